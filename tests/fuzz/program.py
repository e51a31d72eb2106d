"""A program as a frozen record, and its Python source: one step a line, so that a location names a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

IMPORTS = """\
import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
"""
At = tuple[int, int]
"""Which step: its index in the program, and in its checkpointed function (-1: the step itself)."""


@dataclass(frozen=True)
class Step:
    """One statement. ``writes`` are the expressions whose memory it changes.

    ``rebind`` is its out-of-place form, where it has one. ``body`` are the lines of the function that a checkpoint
    runs, ``signature`` its head.
    """

    kind: str
    text: str
    writes: tuple[str, ...] = ()
    no_grad: bool = False
    rebind: str = ""
    signature: str = ""
    body: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Program:
    """``prelude`` makes the leaves before anything is observed; ``steps`` are what is tested."""

    prelude: tuple[str, ...]
    steps: tuple[Step, ...]

    def edited(self, edit: Callable[[At, Step], Step | None]) -> Program:
        """The program with each step replaced by what ``edit`` says; None drops it."""
        steps = []
        for index, step in enumerate(self.steps):
            kept = edit((index, -1), step)
            if kept is not None:
                lines = [edit((index, inner), line) for inner, line in enumerate(step.body)]
                steps.append(replace(kept, body=tuple(line for line in lines if line is not None)))
        return Program(self.prelude, tuple(steps))

    def without(self, dropped: set[At]) -> Program:
        """The program without these steps."""
        return self.edited(lambda at, step: None if at in dropped else step)

    def rebound(self, changed: set[At]) -> Program | None:
        """The program with these steps in their out-of-place form; None where one of them has none."""
        if any(not self.at(at).rebind for at in changed):
            return None
        return self.edited(lambda at, step: replace(step, text=step.rebind) if at in changed else step)

    def until(self, last: int) -> Program:
        """The program up to and including the step of that index."""
        return Program(self.prelude, self.steps[: last + 1])

    def at(self, at: At) -> Step:
        """The step at a position."""
        step = self.steps[at[0]]
        return step if at[1] < 0 else step.body[at[1]]


@dataclass(frozen=True)
class Source:
    """Python text, and which step each of its lines is."""

    text: str
    lines: dict[int, At]


def source_of(program: Program, *, stamped: bool = False) -> Source:
    """The steps as Python. ``stamped``: each write is followed by a call that overwrites what it wrote."""
    text: list[str] = []
    lines: dict[int, At] = {}
    for index, step in enumerate(program.steps):
        for line, at in _lines(step, index, stamped=stamped):
            text.append(line)
            lines[len(text)] = at
    return Source("\n".join(text) + "\n", lines)


def _lines(step: Step, index: int, *, stamped: bool) -> Iterator[tuple[str, At]]:
    at = (index, -1)
    if step.signature:
        yield f"def {step.signature}:", at
        for inner, line in enumerate(step.body):
            yield f"    {line.text}", (index, inner)
            if stamped and line.writes:
                yield f"    stamp({', '.join(line.writes)})", (index, inner)
        if not step.body:  # Made smaller until nothing is left.
            yield "    pass", at
    indent = "    " if step.no_grad else ""
    if step.no_grad:
        yield "with torch.no_grad():", at
    yield indent + step.text, at
    if stamped and step.writes:
        yield f"{indent}stamp({', '.join(step.writes)})", at


def runnable(program: Program) -> str:
    """The program as a script that inspects itself and prints the report."""
    inside = source_of(program).text.rstrip().replace("\n", "\n        ")
    prelude = "\n".join(program.prelude)
    return (
        f"{IMPORTS}\nimport autograd_inspector\n\n{prelude}\n\n"
        f"inspection = autograd_inspector.inspect()\ntry:\n    with inspection:\n        {inside}\n"
        "finally:\n    print(inspection.report.to_text())\n"
    )
