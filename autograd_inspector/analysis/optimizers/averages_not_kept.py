"""Running averages of gradients that an update computes of a state which stays zero: the new one is not written to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import AverageLeft

_MOST = 6
_AVERAGES = OpKind.MULTIPLIES | OpKind.INTERPOLATES
_ASIDE = Trait.STEP | Trait.BACKWARD
"""So many ops may lie between a gradient and the average that it enters."""
_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.CONVERTS | OpKind.DETACHES | OpKind.ALIASES


class AverageNotKept(Struct, frozen=True):
    """Each time that the line of ``op`` runs, it begins with ``states``, which are the zeros that they were made as."""

    op: Op
    states: tuple[int, ...]
    born: Op


def averages_left_in_steps(analysis: Analysis) -> Iterator[tuple[AverageLeft, ...]]:
    """The same within the steps of an optimizer, for each entry of its state and line; at least two began with the zeros."""
    by_line: dict[tuple[int, str, int], list[AverageLeft]] = {}
    for event in analysis.capture.events_of(AverageLeft):
        scales = is_a(event.scaled, OpKind.INTERPOLATES) if event.scaled == event.added else _is_sum(event)
        if scales and is_a(event.maker, OpKind.RETURNS_ZEROS):
            by_line.setdefault((event.optimizer, event.entry, event.site), []).append(event)
    for events in by_line.values():
        if len(events) > 1:
            yield tuple(events)


def _is_sum(event: AverageLeft) -> bool:
    return is_a(event.scaled, OpKind.MULTIPLIES) and is_a(event.added, OpKind.ADDS)


def averages_not_kept(analysis: Analysis) -> Iterator[AverageNotKept]:
    """One for each line that scales states of zeros and adds gradients to them, in round after round.

    An average that a variable holds is zero the first time only, and one that begins anew moves in between: there the line
    reads other values too.
    """
    capture = analysis.capture
    gradients = frozenset().union(*analysis.gradients.values()) if analysis.returns_zeros else frozenset[int]()
    by_site: dict[int, list[Op]] = {}
    for op in ops_of(capture, _AVERAGES) if gradients else ():
        if not op.has(_ASIDE) and op.inputs and not _of_gradient(analysis, op.inputs[0], gradients):
            by_site.setdefault(op.site, []).append(op)
    ends = sorted(run.end for run in capture.completed_runs)
    for ops in by_site.values():
        rounds: dict[int, set[int]] = {}
        for op in ops:
            rounds.setdefault(op.inputs[0], set()).add(bisect_right(ends, op.index))
        if min(map(len, rounds.values())) < 2 or not all(_averages(analysis, op, gradients) for op in ops):
            continue
        births = [analysis.flow.birth(state) for state in rounds]
        born = [made for made in births if made is not None and is_a(made.name, OpKind.RETURNS_ZEROS)]
        if len(born) == len(rounds) and not any(_written(analysis, state) for state in rounds):
            yield AverageNotKept(ops[0], tuple(rounds), born[0])


def _averages(analysis: Analysis, op: Op, gradients: frozenset[int]) -> bool:
    """Whether an op computes a new tensor of its first input to which a gradient is added."""
    if op.recorded or op.writes or len(op.outputs) != 1:
        return False
    if is_a(op.name, OpKind.INTERPOLATES):
        return any(_of_gradient(analysis, tensor, gradients) for tensor in op.inputs[1:2])
    readers = [analysis.capture.ops[at] for at in analysis.capture.readers.get(op.outputs[0], ())]
    return len(op.inputs) == 1 and any(
        is_a(reader.name, OpKind.ADDS)
        and any(_of_gradient(analysis, tensor, gradients) for tensor in reader.inputs if tensor not in op.outputs)
        for reader in readers
    )


def _of_gradient(analysis: Analysis, tensor: int, gradients: frozenset[int]) -> bool:
    """Whether it is a gradient, scaled or not."""
    for _ in range(_MOST):
        if tensor in gradients:
            return True
        made = analysis.flow.birth(tensor)
        if made is None or not made.inputs or not is_a(made.name, _SCALES):
            return False
        tensor = made.inputs[0]
    return False


def _written(analysis: Analysis, state: int) -> bool:
    writes = analysis.writes_to(analysis.capture.tensors[state].storage, state, 0, len(analysis.capture.ops))
    return any(True for _ in writes)
