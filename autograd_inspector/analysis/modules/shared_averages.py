"""Averages of the weights that two parameters share, so that each update mixes the one with the other.

The program updates one average a parameter, by one line; some of them come up twice in a round, with another parameter
each time, and are copied to both in the end. An average over members of an ensemble, or over clients, is one throughout.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.memory.restored import copied_in
from autograd_inspector.analysis.modules.following import operands
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.op import Op, Trait, Write

_ASIDE = Trait.STEP | Trait.BACKWARD
_DEEPEST = 4
"""So many ops compute what goes into an average: the difference, the factor, the product."""


class SharedAverage(Struct, frozen=True):
    """``updated`` mixed each of ``parameters`` into ``average``, and ``copied`` gave them all what came of it."""

    average: int
    parameters: tuple[int, ...]
    made: Op | None
    updated: Op
    copied: Op


def shared_averages(analysis: Analysis) -> Iterator[SharedAverage]:
    """Each such average once."""
    capture = analysis.capture
    if not capture.steps or capture.history.folded:
        return
    moved = {p.tensor for step in capture.steps for p in step.parameters if p.version_after > p.version_before}
    copied = _copied_back(analysis, moved)
    if not copied:
        return
    told: set[int] = set()
    for updates in _rounds(analysis, moved, copied.keys()).values():
        if min(len(parameters) for parameters in updates.values()) > 1:
            continue
        for storage, parameters in updates.items():
            sites = {copied[storage][p].site for p in parameters if p in copied[storage]}
            if (
                len(parameters) > 1
                and storage not in told
                and len(sites) == 1
                and parameters.keys() <= copied[storage].keys()
            ):
                told.add(storage)
                average, updated = list(parameters.values())[-1]
                made = analysis.flow.birth(average)
                yield SharedAverage(average, tuple(parameters), made, updated, copied[storage][next(iter(parameters))])


def _copied_back(analysis: Analysis, moved: set[int]) -> dict[int, dict[int, Op]]:
    """Memory -> the trained parameters that get what is in it, each with the op that copies."""
    tensors = analysis.capture.tensors
    by_storage = {tensors[t].storage: t for t in moved if tensors[t].storage >= 0}
    found: dict[int, dict[int, Op]] = {}
    for op in writing(analysis.capture):
        for write in op.writes if not op.has(_ASIDE) else ():
            target = write.tensor if write.tensor in moved else by_storage.get(write.storage, -1)
            source = op.inputs[0] if assigns(op) and op.inputs else copied_in(op, write)
            if target >= 0 and source is not None and tensors[source].storage >= 0:
                found.setdefault(tensors[source].storage, {})[target] = op
    return {storage: targets for storage, targets in found.items() if storage not in by_storage}


_Updates = dict[int, dict[int, tuple[int, Op]]]
"""Memory of an average -> the parameters that are mixed into it, each with the average and the op."""


def _rounds(analysis: Analysis, moved: set[int], averages: Collection[int]) -> dict[tuple[int, int], _Updates]:
    """(line that updates averages, steps until then) -> what it mixes into each."""
    capture = analysis.capture
    found: dict[tuple[int, int], _Updates] = {}
    for op in writing(capture):
        for write in op.writes if not op.has(_ASIDE) and not op.recorded else ():
            if write.storage in averages:
                sources = mixed_in(analysis, op, write, moved)
                if len(sources) == 1:
                    key = op.site, analysis.timeline.steps.passed(op.index)
                    entry = found.setdefault(key, {}).setdefault(write.storage, {})
                    entry[sources.pop()] = write.tensor, op
    return found


def mixed_in(analysis: Analysis, op: Op, write: Write, moved: set[int]) -> set[int]:
    """The trained parameters that went, element by element, into what an op made of an average and of them."""
    tensors = analysis.capture.tensors
    shape = tensors[write.tensor].shape
    kept = not is_a(op.name, OpKind.COPIES_INTO)
    sources, todo = set[int](), [(tensor, _DEEPEST) for tensor in operands(op, write.tensor) if tensor != write.tensor]
    while todo:
        tensor, deepest = todo.pop()
        if tensor in moved or tensors[tensor].shape != shape or not shape:
            sources |= {tensor} & moved
            continue
        kept = kept or tensors[tensor].storage == write.storage
        made = analysis.flow.birth(tensor) if tensors[tensor].storage != write.storage else None
        if made is not None and deepest and not made.recorded and not made.has(_ASIDE):
            todo += [(read, deepest - 1) for read in made.inputs]
    return {source for source in sources if tensors[source].shape == shape} if kept else set()
