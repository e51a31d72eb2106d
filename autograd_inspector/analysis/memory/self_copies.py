"""Copies of a tensor onto itself, or averages with itself: what was to follow another tensor is that tensor."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD
_AVERAGES = OpKind.INTERPOLATES | OpKind.ADDS


class SelfCopy(Struct, frozen=True):
    """``op`` copied each of ``tensors`` onto itself, as an op of the same line had before ``step`` changed them.

    ``averages``: it is the last of a moving average, of the tensor and of itself. ``loaded``: a model loaded the state
    that the very call took of it, which no round has to show: ``step`` moves it before or afterwards.
    """

    op: Op
    tensors: tuple[int, ...]
    step: Op
    averages: bool
    loaded: bool = False


def self_copies(analysis: Analysis) -> Iterator[SelfCopy]:
    """One record for each line that copies, and copies nothing but tensors onto themselves.

    Where it also copies between two tensors, the models are two, and share some parameters on purpose.
    """
    found: dict[object, tuple[SelfCopy, dict[int, None]]] = {}
    apart: set[object] = set()
    first: dict[tuple[object, int], int] = {}
    tensors = analysis.capture.tensors
    for op, averages in _written_over(analysis):
        target, source = (tensors[tensor] for tensor in op.inputs)
        same = (target.offset, target.shape, target.extent) == (source.offset, source.shape, source.extent)
        line = line_of(analysis, op.site)
        if target.storage != source.storage or not same:
            apart.add(line)
            continue
        if averages and not is_average(analysis, op):
            continue
        copy = _copied(analysis, op, first.setdefault((line, target.storage), op.index), averages=averages)
        if copy is None:
            continue
        if line not in found or (found[line][0].loaded and not copy.loaded):  # Rounds tell more than a single load.
            found[line] = copy, {}
        found[line][1][target.id] = None
    for place, (copy, copied) in found.items():
        if place not in apart:
            yield replace(copy, tensors=tuple(copied))


def _written_over(analysis: Analysis) -> Iterator[tuple[Op, bool]]:
    """(an op that writes one tensor over another, whether it averages them), in program order."""
    for op in writing(analysis.capture):
        averages = is_a(op.name, _AVERAGES)
        over = (averages or is_a(op.name, OpKind.COPIES_INTO)) and not op.has(_ASIDE) and len(op.inputs) == 2
        if over and analysis.capture.tensors[op.inputs[0]].storage >= 0:
            yield op, averages


def _copied(analysis: Analysis, op: Op, first: int, *, averages: bool) -> SelfCopy | None:
    """What a copy onto itself tells, of which ``first`` was the first of that line; None: nothing."""
    storage = analysis.capture.tensors[op.inputs[0]].storage
    step = _stepped(analysis, storage, first, op.index)
    loaded = step is None and _own_state(analysis, op)
    if loaded:
        step = _stepped(analysis, storage, 0, len(analysis.capture.ops))
    return SelfCopy(op, (), step, averages, loaded) if step is not None else None


def _stepped(analysis: Analysis, storage: int, start: int, end: int) -> Op | None:
    """The last step of an optimizer that moved what lies in a memory."""
    latest = (op for op, _ in analysis.writes_back(storage, start, end) if op.has(Trait.STEP)) if end > start else ()
    return next(iter(latest), None)


def _own_state(analysis: Analysis, op: Op) -> bool:
    """Whether ``load_state_dict`` copied what the same expression had just taken with ``state_dict()``."""
    sites, source = analysis.capture.sites, analysis.flow.birth(op.inputs[1])
    if source is None or op.site < 0 or source.site < 0 or source.inputs[:1] != op.inputs[:1]:
        return False
    through = sites[op.site].through, sites[source.site].through
    same = line_of(analysis, op.site) == line_of(analysis, source.site)
    return same and through == ("Module.load_state_dict", "Module.state_dict")


def is_average(analysis: Analysis, op: Op) -> bool:
    """Whether an op interpolates, or adds to what the write before it had multiplied by a number: ``x.mul_(d).add_(x)``.

    A tensor added to itself on its own may be a decay of weights, ``w.add_(w, alpha=-rate)``.
    """
    if is_a(op.name, OpKind.INTERPOLATES):
        return True
    storage = analysis.capture.tensors[op.inputs[0]].storage
    before = next(iter(op for op, _ in analysis.writes_back(storage, 0, op.index)), None)
    return before is not None and is_a(before.name, OpKind.MULTIPLIES) and len(before.inputs) == 1
