"""Parameters that the program updates itself, without an optimizer: `p -= lr * p.grad`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_ADDING = OpKind.ADDS | OpKind.SUBTRACTS
"""What makes ``p - lr * g``; other formulas of a parameter and its gradient measure something (``p * g``)."""


_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.EXPORT


_FOLLOWED = 1000
"""What is followed no further counts as used."""


_NONE: frozenset[int] = frozenset()


class Update(Struct, frozen=True):
    """An op that computes a parameter's new value from its gradient; ``kept``: it wrote it into the parameter."""

    parameter: int
    op: Op
    kept: bool


def updates(analysis: Analysis) -> Iterator[Update]:
    """Updates of leaves that no optimizer of the capture holds, in program order."""
    capture, tensors = analysis.capture, analysis.capture.tensors
    of = _gradients_read(analysis)
    in_memory: dict[int, set[int]] = {}  # Leaves that may be updated: of many of them an op touches few.
    for parameter in {leaf for leaves in of.values() for leaf in leaves}:
        in_memory.setdefault(tensors[parameter].storage, set()).add(parameter)
    unions = _Unions()
    asked = "grad" in capture.op_index.by_name
    for op in capture.ops if of or asked else ():
        if op.has(_ASIDE) or op.call >= 0:
            continue
        if op.name == "grad":
            parameters = frozenset(t for t in op.inputs if tensors[t].leaf and t not in capture.optimized)
            for parameter in parameters:
                in_memory.setdefault(tensors[parameter].storage, set()).add(parameter)
        else:
            parameters = unions.of(of.get(t, _NONE) for t in op.inputs)
        if not parameters:
            continue
        input_storages = {tensors[t].storage for t in op.inputs if t not in of}
        storages = input_storages | {write.storage for write in op.writes}
        touched = {parameter for storage in storages for parameter in in_memory.get(storage, ())}
        for parameter in sorted(touched & parameters):
            record = tensors[parameter]
            if any(w.tensor == parameter or w.storage == record.storage >= 0 for w in op.writes):
                yield Update(parameter, op, kept=True)
            elif is_a(op.name, _ADDING) and record.storage in input_storages and _shaped(analysis, op, parameter):
                yield Update(parameter, op, kept=False)
        of.update(dict.fromkeys(op.outputs, parameters))


class _Unions:
    """Unions of sets of leaves: of a network's leaves the same few sets meet again and again."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], tuple[frozenset[int], frozenset[int], frozenset[int]]] = {}
        """By what two sets are as objects, which are kept: (one, other, both)."""

    def of(self, sets: Iterable[frozenset[int]]) -> frozenset[int]:
        """All that is in some of them."""
        union = _NONE
        for each in sets:
            if not union:
                union = each
            elif each and each is not union:
                union = self._both(union, each)
        return union

    def _both(self, one: frozenset[int], other: frozenset[int]) -> frozenset[int]:
        key = id(one), id(other)
        made = self._made.get(key)
        if made is None:
            union = one if one >= other else other if other > one else one | other
            made = self._made[key] = one, other, union
        return made[2]


def _gradients_read(analysis: Analysis) -> dict[int, frozenset[int]]:
    """Gradient -> the leaves, in no optimizer of the capture, as whose ``.grad`` it was read."""
    of: dict[int, frozenset[int]] = {}
    for read in analysis.capture.grad_reads:
        if read.leaf and read.gradient >= 0 and read.tensor not in analysis.capture.optimized:
            of[read.gradient] = of.get(read.gradient, _NONE) | {read.tensor}
    return of


def _shaped(analysis: Analysis, op: Op, parameter: int) -> bool:
    tensors = analysis.capture.tensors
    return [tensors[t].shape for t in op.outputs] == [tensors[parameter].shape]


def dropped_updates(analysis: Analysis, made: tuple[Update, ...]) -> list[Update]:
    """Updates whose result was at most looked at, of parameters that the next round used as they were, each time."""
    capture = analysis.capture
    lost: dict[tuple[int, int], list[Update]] = {}
    for update in made:
        if not update.kept:
            lost.setdefault((update.parameter, update.op.site), []).append(update)
    return [
        line_updates[0]
        for (parameter, _), line_updates in lost.items()
        if next(analysis.timeline.runs_to(parameter).since(line_updates[0].op.index + 1), None) is not None
        and not _used(capture, [t for update in line_updates for t in update.op.outputs])
        and not _written(analysis, parameter, line_updates[0].op.index)
        and not _other_holder(analysis, line_updates)
    ]


def _used(capture: Capture, tensors: list[int]) -> bool:
    """Whether what was computed of them was written somewhere, or learned from; what one prints is not."""
    roots = {root for run in capture.backwards for root in run.roots}
    todo, seen = [*tensors], set(tensors)
    while todo:
        tensor = todo.pop()
        if tensor in roots or len(seen) > _FOLLOWED:
            return True
        for reader in map(capture.ops.__getitem__, capture.readers.get(tensor, ())):
            if reader.writes or reader.call >= 0:
                return True
            todo += [t for t in reader.outputs if t not in seen]
            seen.update(reader.outputs)
    return False


def _written(analysis: Analysis, parameter: int, since: int) -> bool:
    storage = analysis.capture.tensors[parameter].storage
    return any(True for _ in analysis.writes_to(storage, parameter, since, len(analysis.capture.ops)))


def _other_holder(analysis: Analysis, line_updates: list[Update]) -> bool:
    """Whether another tensor has the new value's memory: a parameter made of it, what ``.data`` was set to."""
    made = {t for update in line_updates for t in update.op.outputs}
    tensors = analysis.capture.tensors
    memory = {tensors[t].storage for t in made} - {-1}
    return any(record.storage in memory and record.id not in made for record in tensors)
