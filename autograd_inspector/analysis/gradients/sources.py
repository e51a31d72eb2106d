"""Where the gradients come from that an optimizer step consumes.

For each step and parameter: the backwards whose gradients were added up in its ``.grad``, since nothing cleared it, what
rewrote the sum between them, and at which value of the parameter each of them was computed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.memory import writes_into, zeroed_in_place
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op

_REWRITES = OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.ADDS | OpKind.SUBTRACTS | OpKind.NEGATES | OpKind.CLAMPS
"""What makes another sum of a sum of gradients. After any other write it is not known what a ``.grad`` holds."""

Beginning = Literal["empty", "cleared", "replaced", "older", "taken"]

_MOST_ANSWERS = 20_000
"""So many are kept: of a long run the rest are made again."""


class Contribution(Struct, frozen=True):
    """What one backward of the program's added to a ``.grad``.

    ``parts`` are the engine runs that did so: the run itself, or those within it (a checkpoint's). ``rewrites`` are the
    ops that rewrote the sum afterwards, before the next contribution or the step.
    """

    run: Backward
    parts: tuple[Backward, ...]
    rewrites: tuple[Op, ...] = ()

    @property
    def start(self) -> int:
        """When the first of them began."""
        return self.parts[0].start

    @property
    def end(self) -> int:
        """When the last of them was over."""
        return self.parts[-1].end


class Consumed(Struct, frozen=True):
    """The gradient with which a step met one parameter, as a sum of contributions, the earliest first.

    ``beginning``: what the first of them was added to. "empty": the ``.grad`` was None, "cleared": zeros, "replaced":
    what the program had put there, "older": what was there when the same optimizer had stepped before, or when the
    capture began, "taken": nothing that can be told, as a hook took what was there.
    """

    step: Step
    tensor: int
    contributions: tuple[Contribution, ...]
    beginning: Beginning


class Value(Struct, frozen=True):
    """The value of a parameter that an op read: the op, and the version counter then."""

    op: int
    version: int


class GradientSources:
    """What was added up in the gradients that steps consume. Each answer is made when it is asked for first."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._since: dict[int, int] = {}
        """Step (its op) -> when the same optimizer had stepped before; -1: not in this capture."""
        self._read: dict[int, dict[int, Value]] = {}
        self._answers: dict[tuple[int, int, int], Consumed] = {}
        """(step, parameter, gradient) -> what it met: most of the questions that are asked begin with the same."""
        last: dict[int, int] = {}
        for step in analysis.capture.steps:
            self._since[step.op] = last.get(step.optimizer, -1)
            last[step.optimizer] = step.at

    def since(self, step: Step) -> int:
        """When the optimizer of a step had stepped before; -1: not in this capture."""
        return self._since[step.op]

    def of(self, step: Step) -> Iterator[Consumed]:
        """The gradients that a step met, in the order of its parameters."""
        for parameter in step.parameters:
            if parameter.gradient >= 0:
                yield self.consumed(step, parameter)

    def consumed(self, step: Step, parameter: ParameterStep) -> Consumed:
        """The gradient that a step met of one parameter."""
        key = step.op, parameter.tensor, parameter.gradient
        answer = self._answers.get(key)
        if answer is None:
            answer = self._consumed(step, parameter)
            if len(self._answers) < _MOST_ANSWERS:
                self._answers[key] = answer
        return answer

    def uses(self, step: Step, run: Backward, tensors: Collection[int]) -> bool:
        """Whether a step used what a run had computed, for each of its parameters that is one of these."""
        return all(
            any(each.run.index == run.index for each in self.consumed(step, parameter).contributions)
            for parameter in step.parameters
            if parameter.tensor in tensors
        )

    def _consumed(self, step: Step, parameter: ParameterStep) -> Consumed:
        timeline, tensor = self._analysis.timeline, parameter.tensor
        gradients = self._gradients(tensor, self._since[step.op], step.at) | {parameter.gradient}
        runs = timeline.backwards_to(tensor).within(self._since[step.op] + 1, step.at)
        found: list[Contribution] = []
        beginning: Beginning = "older"
        edge = step.at
        for run in reversed(runs):
            rewrites = self._between(tensor, gradients, run.end, edge)
            if isinstance(rewrites, str):
                beginning = rewrites
                break
            if tensor in timeline.empty(run):
                beginning = "taken"
                break
            self._add(found, run, rewrites)
            edge = run.start
            if tensor not in timeline.stale(run):
                beginning = "empty"
                break
        else:
            first = self._between(tensor, gradients, self._since[step.op] + 1, edge)
            beginning = first if isinstance(first, str) else beginning
        return Consumed(step, tensor, tuple(reversed(found)), beginning)

    def _gradients(self, tensor: int, start: int, end: int) -> frozenset[int]:
        """What was seen as a parameter's ``.grad`` from the step before to this one: an older one is not filled again."""
        seen = self._seen.get(tensor, [])
        within = seen[bisect_left(seen, (start, -1)) : bisect_right(seen, (end, len(self._analysis.capture.tensors)))]
        return frozenset(gradient for _, gradient in within)

    @cached_property
    def _seen(self) -> dict[int, list[tuple[int, int]]]:
        """Parameter -> (when, gradient) of each that was seen, in program order."""
        capture = self._analysis.capture
        moments = [(read.tensor, read.at, read.gradient) for read in capture.grad_reads]
        moments += [(write.tensor, write.at, write.gradient) for write in capture.grad_writes]
        moments += [(p.tensor, step.at, p.gradient) for step in capture.steps for p in step.parameters]
        seen: dict[int, list[tuple[int, int]]] = {}
        for tensor, at, gradient in sorted(moments, key=lambda moment: moment[1:]):
            if gradient >= 0:
                seen.setdefault(tensor, []).append((at, gradient))
        return seen

    def value_at(self, contribution: Contribution, tensor: int) -> Value | None:
        """The value of a parameter that a contribution to its gradient was computed at; None: that was not seen.

        Of several reads the last one.
        """
        read = [self._reads(run)[tensor] for run in contribution.parts if tensor in self._reads(run)]
        return max(read, key=lambda value: value.op, default=None)

    def outermost(self, run: Backward) -> Backward:
        """The run that the program itself began."""
        while run.nested_in >= 0:
            run = self._analysis.capture.backwards[run.nested_in]
        return run

    def _add(self, found: list[Contribution], run: Backward, rewrites: tuple[Op, ...]) -> None:
        outer = self.outermost(run)
        if found and found[-1].run.index == outer.index:
            later = found.pop()
            found.append(Contribution(outer, (run, *later.parts), later.rewrites))
        else:
            found.append(Contribution(outer, (run,), rewrites))

    def _between(
        self, tensor: int, gradients: frozenset[int], start: int, end: int
    ) -> tuple[Op, ...] | Literal["cleared", "replaced"]:
        """What rewrote a ``.grad`` that is there at both moments, or that it is another one by then.

        What clears it to None at the very index of a backward came before it: else there would be none afterwards.
        """
        analysis = self._analysis
        if clearings(analysis, (tensor,), start + 1, end) or zeroed_in_place(analysis, gradients, start, end):
            return "cleared"
        for write in analysis.timeline.writes_of(tensor).within(start, end):
            if write.gradient >= 0 or write.at > start:
                return "replaced"
        rewrites: dict[int, Op] = {}
        for gradient in gradients:
            for op, _ in writes_into(analysis, gradient, max(start, 0), end):
                if not is_a(op.name, _REWRITES):
                    return "replaced"
                rewrites[op.index] = op
        return tuple(rewrites[index] for index in sorted(rewrites))

    def _reads(self, run: Backward) -> dict[int, Value]:
        """Leaf -> the last read of it among the ops that made the graph of a run."""
        read = self._read.get(run.index)
        if read is None:
            read = self._read[run.index] = {}
            leaves, ops = frozenset(run.reached), self._analysis.capture.ops
            for index in sorted({node.op for node in self._analysis.nodes_of(run) if node.op >= 0}):
                op = ops[index]
                for tensor, version in zip(op.inputs, op.versions, strict=False):
                    if tensor in leaves:
                        read[tensor] = Value(index, version)
        return read
