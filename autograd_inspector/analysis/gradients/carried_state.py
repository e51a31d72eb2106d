"""States that lose their history in each iteration of a recurrence, so that no gradient goes back more than one step.

A state that is cut after each backward, or every k-th step, bounds the graph: that is truncated backpropagation through time. One that
is cut in every step of one forward teaches its recurrence nothing about what came before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.classifier import is_cut
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait

_FEWEST = 3
"""Of two cuts nobody knows whether they are steps of one recurrence, or a first and a second pass."""
_LOOKED_AT = 8
"""So many iterations, the last ones, tell which parameters each state is computed with."""
_ASIDE = Trait.BACKWARD | Trait.STEP | Trait.INNER
_PASSES_ON = OpKind.ADDS | OpKind.SUBTRACTS | OpKind.CONCATENATES | OpKind.STACKS


class CarriedState(Struct, frozen=True):
    """``ops``, all at one place, cut a state in each iteration before ``backward``; ``parameters`` computed each state."""

    ops: tuple[Op, ...]
    parameters: tuple[int, ...]
    backward: Backward


def carried_states(analysis: Analysis) -> Iterator[CarriedState]:
    """One for each line that cuts, in the first backward that shows it.

    Nothing else carries gradient from one iteration to the next, each iteration reads other data, and what is cut is a
    hidden state: it reaches the loss through what learns, and is not itself compared with anything, as a prediction that
    is fed back is.
    """
    query = _CarriedStates(analysis)
    told: set[object] = set()
    runs = [run for run in analysis.capture.completed_runs if run.nested_in < 0]
    windows = list(zip([0, *(run.end for run in runs)], runs, strict=False))
    # Before the first run there may have been others, which are folded away.
    for since, run in windows[1:] if analysis.capture.history.folded else windows:
        for site, ops in query.cuts(since, run.start).items():
            line = line_of(analysis, site)
            found = query.of(ops, run) if line not in told else None
            if found is not None:
                told.add(line)
                yield found


class _CarriedStates:
    def __init__(self, analysis: Analysis) -> None:
        self._capture = analysis.capture
        self._flow = analysis.flow
        self._learning = analysis.learning
        self._leaves = Leaves(analysis.capture, analysis.flow)

    def cuts(self, start: int, end: int) -> dict[int, list[Op]]:
        """The detached tensors of a stretch of the program, by place, where there are several."""
        by_site: dict[int, list[Op]] = {}
        for op in self._capture.ops[start:end]:
            if op.has(Trait.CUT) and op.inputs and is_a(op.name, OpKind.DETACHES) and not op.has(_ASIDE):
                by_site.setdefault(op.site, []).append(op)
        return {site: ops for site, ops in by_site.items() if len(ops) >= _FEWEST}

    def of(self, ops: Sequence[Op], run: Backward) -> CarriedState | None:
        """What holds of the cuts at one place."""
        parameters = self._shared(ops[-_LOOKED_AT:]) if all(self._chained(*pair) for pair in pairwise(ops)) else ()
        if not parameters:
            return None
        before, last, current = ops[-3:]
        if self._crosses(before, last, current) or not self._once(last, current):
            return None
        if self._data(before, last) == self._data(last, current):
            return None
        return CarriedState(tuple(ops), parameters, run) if self._hidden(ops, run) else None

    def _shared(self, ops: Sequence[Op]) -> tuple[int, ...]:
        """The parameters that learn and that each state but the first was computed with."""
        above = [self._leaves.above(op) for op in ops[1:]]
        common = set(above[0]).intersection(*above[1:]) & self._learning
        return tuple(tensor for tensor in above[0] if tensor in common)

    def _above(self, op: Op) -> set[int]:
        """The ops that gradient would come to from a cut value, were it not cut."""
        ends = self._flow.upstream([(op.inputs[0], op.index)], lambda each, t: not is_cut(self._capture, each, t))
        return {each.index for each, _ in ends}

    def _chained(self, earlier: Op, later: Op) -> bool:
        """Whether a state was computed from the one before it: each op of the program is looked at once."""
        return later.inputs[0] in self._downstream(set(earlier.outputs), earlier.index + 1, later.index)

    def _crosses(self, before: Op, last: Op, current: Op) -> bool:
        """Whether the state of the second iteration has gradient from what the first one made of its own."""
        made = self._downstream(set(before.outputs), before.index + 1, last.index)
        above = self._above(current)
        return any(not made.isdisjoint(self._capture.ops[index].inputs) for index in above if index != last.index)

    def _data(self, last: Op, current: Op) -> set[tuple[int, int, int]]:
        """The memory that one iteration reads of what was there before it, besides weights and the state.

        A recurrence reads the next input each time. One that reads the same again refines its result, and such a
        refinement is often trained by its last iteration alone, on purpose.
        """
        tensors, above = self._capture.tensors, self._above(current)
        read = {
            tensor
            for op in self._capture.ops[last.index + 1 : current.index]
            if op.index in above
            for tensor in op.inputs
            if not tensors[tensor].of_model and tensor not in last.outputs
        }
        older = (tensors[t] for t in read if self._first_made.get(tensors[t].storage, current.index) < last.index)
        return {(record.storage, record.offset, record.extent) for record in older}

    @cached_property
    def _first_made(self) -> dict[int, int]:
        """Storage -> the op that made the first tensor in it; -1: none of the capture."""
        made: dict[int, int] = {}
        for record in self._capture.tensors:
            made[record.storage] = min(record.birth, made.get(record.storage, record.birth))
        return made

    def _downstream(self, tensors: set[int], start: int, end: int) -> set[int]:
        """What is computed of some tensors with a graph, in a stretch of the program."""
        made = set(tensors)
        for op in self._capture.ops[start:end]:
            if op.recorded and not op.has(_ASIDE) and not made.isdisjoint(op.inputs):
                made.update(op.outputs)
                made.update(write.tensor for write in op.writes)
        return made

    def _once(self, last: Op, current: Op) -> bool:
        """Whether one step of the recurrence lies between two cuts: a state that is cut every k steps is bounded."""
        between = self._capture.ops[last.index + 1 : current.index]
        first = next((op for op in between if op.recorded and not set(last.outputs).isdisjoint(op.inputs)), None)
        return first is not None and sum(self._alike(op, first) for op in between) == 1

    def _alike(self, op: Op, other: Op) -> bool:
        return op.site == other.site and op.name == other.name and self._weights(op) == self._weights(other)

    def _weights(self, op: Op) -> list[int]:
        return [tensor for tensor in op.inputs if self._capture.tensors[tensor].of_model]

    def _last(self, cut: Op, end: int) -> set[int]:
        """The state of the last iteration, which no iteration cuts: what made the others made it, too."""
        made = self._flow.birth(cut.inputs[0])
        later = self._capture.ops[cut.index + 1 : end] if made is not None else ()
        return {tensor for op in later if made is not None and self._alike(op, made) for tensor in op.outputs[:1]}

    def _hidden(self, ops: Sequence[Op], run: Backward) -> bool:
        """Whether the states reach the loss, and by nothing but what learns."""
        tensors = self._capture.tensors
        states = {op.inputs[0] for op in ops} | self._last(ops[-1], run.start)
        bare = set(states)
        for op in self._capture.ops[ops[0].index : run.start]:
            if not op.recorded or op.has(_ASIDE):
                continue
            read = states.intersection(op.inputs)
            if read:
                states.update(op.outputs)
            if bare.isdisjoint(op.inputs):
                continue
            others = [tensor for tensor in op.inputs if tensor not in bare and tensors[tensor].requires_grad]
            if not others or is_a(op.name, _PASSES_ON):
                bare.update(op.outputs)
        return not states.isdisjoint(run.roots) and bare.isdisjoint(run.roots)
