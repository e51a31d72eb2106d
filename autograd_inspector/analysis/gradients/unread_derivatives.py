"""Gradients that were taken with a graph, for a loss to be computed with them, and that no loss was computed with.

``create_graph=True`` serves what is differentiated again: adapted parameters, a gradient penalty. Where all that is computed of such
gradients is gone unread, the loss depends on nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import NamesUnmatched

_MOST = 256
"""So many tensors are computed of some gradients at most, until it is not asked further what becomes of them."""
_LEAVES = Trait.EXPORT | Trait.BACKWARD | Trait.STEP | Trait.COLLECTIVE


class UnreadDerivatives(Struct, frozen=True):
    """``asked`` returned gradients with a graph; ``last`` ends what was computed of them, and nothing reads it.

    ``instead``: the op that takes the ``parameters``, of which those are gradients, into the loss of ``backward``.
    """

    asked: Op
    last: Op
    instead: Op
    parameters: tuple[int, ...]
    backward: Backward


def unread_derivatives(analysis: Analysis) -> Iterator[UnreadDerivatives]:
    """One for each line that asks for such gradients, where no loss is computed with any of them."""
    query = _Unread(analysis)
    lines: dict[object, list[Backward]] = {}
    for run in analysis.capture.backwards:
        if run.api == "grad" and run.create_graph and not run.error and run.nested_in < 0:
            lines.setdefault(line_of(analysis, run.site), []).append(run)
    for runs in lines.values() if not analysis.capture.error else ():
        found = query.of(runs)
        if found is not None:
            yield found


class _Unread:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._capture = analysis.capture
        self._leaves = Leaves(analysis.capture, analysis.flow)

    def of(self, runs: Iterable[Backward]) -> UnreadDerivatives | None:
        """The first of those asked for at one line, unless some of them were differentiated again."""
        found = None
        for run in runs:
            made = self._computed(run)
            if made is None or not self._differentiated.isdisjoint(made):
                return None  # What became of it is not known; or it is a way to a loss.
            if found is None and made and self._is_gone(made):
                found = self._found(run, made)
        return found

    def _computed(self, run: Backward) -> dict[int, Op] | None:
        """Tensor -> the op that made it, of all that was computed of the gradients; None: it left torch, or was written down."""
        capture = self._capture
        asked = capture.ops[run.start] if run.start < len(capture.ops) else None
        if asked is None or asked.name != "grad":
            return None
        made = {tensor: asked for tensor in asked.outputs if capture.tensors[tensor].requires_grad}
        todo = list(made)
        while todo:
            if len(made) > _MOST:
                return None
            for index in capture.readers.get(todo.pop(), ()):
                op = capture.ops[index]
                if op.index <= asked.index:
                    continue
                if op.writes:
                    return None
                if op.has(_LEAVES):
                    continue
                new = [tensor for tensor in op.outputs if tensor not in made]
                made.update(dict.fromkeys(new, op))
                todo += new
        return made

    def _is_gone(self, made: dict[int, Op]) -> bool:
        """Whether the program has nothing of it any more, gave it to nobody, and nothing of it ever left torch."""
        capture = self._capture
        if not (self._held | self._given_in_vain).isdisjoint(made) or not all(
            capture.tensors[tensor].requires_grad for tensor in made
        ):
            return False
        readers = (capture.ops[index] for tensor in made for index in capture.readers.get(tensor, ()))
        return not any(op.has(_LEAVES) for op in readers)

    def _found(self, run: Backward, made: dict[int, Op]) -> UnreadDerivatives | None:
        last = max(made.values(), key=lambda op: op.index)
        backward = next((each for each in self._capture.completed_runs if each.start > last.index), None)
        if backward is None or last.index == run.start:
            return None
        parameters = self._leaves.above(last)
        above = self._analysis.flow.upstream([(root, backward.start) for root in backward.roots])
        reads = [op for op, _ in above if op.recorded and not set(parameters).isdisjoint(op.inputs)]
        if not reads:
            return None
        instead = min(reads, key=lambda op: op.index)
        return UnreadDerivatives(self._capture.ops[run.start], last, instead, parameters, backward)

    @cached_property
    def _differentiated(self) -> frozenset[int]:
        """What backward() started from."""
        return frozenset(root for run in self._capture.backwards if run.api != "grad" for root in run.roots)

    @cached_property
    def _given_in_vain(self) -> frozenset[int]:
        """What a model was given under names that it does not have."""
        return frozenset(tensor for event in self._capture.events_of(NamesUnmatched) for tensor in event.tensors)

    @cached_property
    def _held(self) -> frozenset[int]:
        """What the program still has at the end, or has put into a ``.grad``."""
        return frozenset(self._capture.alive).union(write.gradient for write in self._capture.grad_writes)
