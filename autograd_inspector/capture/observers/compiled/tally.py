"""How compiled functions were compiled: how many graphs, what lies between these, and what made Dynamo do it again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType

from autograd_inspector.capture.compiled.plan import Plan
from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.lines.sources import RESUMED, line_at
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.compiled import COMPILED_CALL
from autograd_inspector.model.program_events import CompiledCalled

_WRITTEN_BY_DYNAMO = ("__compiled_fn_", "__resume_at_")
"""What the code that Dynamo puts in a function's place calls."""
_MOST = 32
"""Breaks, and reasons to compile again, that are kept of a function."""
_DEEP = 64
_NUMBER = re.compile(r"(\d+/\d+: )?([A-Z_]+ failure: )?")
_LONGEST = 160


@dataclass
class _Function:
    graphs: set[int] = field(default_factory=set)
    breaks: dict[str, None] = field(default_factory=dict)
    again: list[str] = field(default_factory=list)


class Tally:
    """Of one capture."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._functions: dict[str, _Function] = {}
        self._skipped: set[CodeType] = set()

    def runs(self, name: str, plan: Plan, frame: FrameType) -> None:
        """A graph is about to run in a call of that function. The first time it tells what made it necessary."""
        function = self._functions.setdefault(name, _Function())
        if id(plan) in function.graphs:
            return
        function.graphs.add(id(plan))  # A graph lives as long as the code that was compiled from it.
        if plan.again and len(function.again) < _MOST:
            function.again.append(f"{_reason(plan.again)} ({_place(plan.code)})")
        frames = [each for each in plan.breaks[1] if not each[2]]
        if plan.breaks[0] and frames and len(function.breaks) < _MOST:
            code, at, _ = frames[0]
            what = plan.breaks[0].strip().splitlines()[0].rstrip(".")
            function.breaks[f"{what} at {_file(code)}:{line_at(code, at)}"] = None
        for code in _skipped(frame):
            if code not in self._skipped:
                self._skipped.add(code)
                self._recording.note(
                    f"Dynamo did not compile `{code.co_name}` ({_place(code)}) but only functions that it calls: its "
                    "own code runs uncompiled and is not seen. inspect(compiled='eager') or --eager "
                    "runs it uncompiled, so that all ops are seen."
                )

    def called(self, name: str, began: tuple[int, int, int]) -> None:
        """A call is over that began at that op, in that module call, at that site."""
        function = self._functions.get(name, _Function())
        at, within, site = began
        self._recording.events.append(
            CompiledCalled(
                at,
                site,
                name,
                until=len(self._recording.ops),
                within=within,
                graphs=len(function.graphs),
                breaks=tuple(function.breaks),
                again=tuple(function.again),
            )
        )


def _skipped(frame: FrameType) -> Iterator[CodeType]:
    """The user's functions between the one that a graph was captured from and the compiled call around it."""
    for number, each in enumerate(outwards(frame.f_back)):
        code = each.f_code
        if code.co_name == COMPILED_CALL or number == _DEEP:
            return
        written = code.co_name.startswith(RESUMED) or any(n.startswith(_WRITTEN_BY_DYNAMO) for n in code.co_names)
        if not written and classify(code.co_filename) == USER:
            yield code


def _reason(text: str) -> str:
    """The guard that failed, without its number and source; of a long explanation the first sentence."""
    reason = _NUMBER.sub("", text.strip().splitlines()[0].partition("  #")[0].strip(), count=1)
    return reason if len(reason) <= _LONGEST else reason.partition(". ")[0]


def _file(code: CodeType) -> str:
    return code.co_filename.replace(chr(92), "/").rpartition("/")[2]


def _place(code: CodeType) -> str:
    name, _, line = code.co_name.removeprefix(RESUMED).rpartition("_at_")
    return f"{_file(code)}:{line if name else code.co_firstlineno}"
