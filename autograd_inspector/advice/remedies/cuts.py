"""How a cut is taken out of the way of a gradient."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradient_cuts.reopened import freed_too_early
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Region
from autograd_inspector.model.remedy import (
    Again,
    Insert,
    Operand,
    OutOfPlace,
    Remedies,
    Remove,
    SetArgument,
    TakeOff,
    Unblock,
    Undecorate,
)
from autograd_inspector.model.rewrites import CallWith, NotCopied, OffData, Unguard


def attached(analysis: Analysis, ops: Iterable[Op]) -> Iterator[Remedies]:
    """The values themselves in place of copies without history, which those ops made; only of all of them at once."""
    ops = tuple(ops)
    if freed_too_early(analysis.capture, analysis.flow, ops):
        return
    sites = dict.fromkeys(op.site for op in ops)
    places = [analysis.capture.place(site) for site in sites]
    known = [place for place in places if place is not None]
    if known and len(known) == len(places):
        outer = [place for place in known if not any(_inside(place, other) for other in known)]
        yield tuple(TakeOff(place) for place in outer)


def _inside(place: Location, other: Location) -> bool:
    """Whether an expression is a part of another one."""
    if place.filename != other.filename or place.column < 0 or other.column < 0:
        return False
    begin, end = (place.lineno, place.column), (place.end_lineno or place.lineno, place.end_column)
    first, last = (other.lineno, other.column), (other.end_lineno or other.lineno, other.end_column)
    return (first, last) != (begin, end) and first <= begin and end <= last


def recorded(analysis: Analysis, cut: GradientCut, region: Region) -> Iterator[Remedies]:
    """The computation outside of the grad mode that kept it from being recorded."""
    capture = analysis.capture
    if freed_too_early(capture, analysis.flow, cut.ops):
        yield from _once_more(analysis, cut)
        return
    ran = [place for op in cut.ops if (place := capture.place(op.site)) is not None]
    if region.at_entry:
        if ran:
            yield (Insert(ran[0], "torch.set_grad_enabled(True)"),)
        return
    place = capture.place(region.definition if region.decorated else region.site)
    if place is None:
        return
    if region.decorated:
        yield (Undecorate(place),)
    elif place.block_end > 0:
        yield (Unblock(place, tuple(frame for op in cut.ops for frame in capture.site(op.site) if not frame.library)),)
    else:
        yield (Remove(place, "set_grad_enabled" if region.api.startswith("torch.set_grad_enabled") else ""),)


def _once_more(analysis: Analysis, cut: GradientCut) -> Iterator[Remedies]:
    """It is computed every time, or again, with its graph, right before the loss that needs it reads it."""
    for op in cut.ops[:1]:
        yield from ((Unguard(place),) for place in analysis.user_frames(op.site, ""))
    roots = [(root, cut.backward.start) for root in cut.backward.roots]
    made = {op.index for op in cut.ops}
    results = {*cut.through, *(t for op in cut.ops for t in op.outputs)}
    readers = [
        op
        for op, _ in analysis.flow.upstream(roots)
        if op.recorded and op.index not in made and not results.isdisjoint(op.inputs)
    ]
    for reader in sorted(readers, key=lambda op: op.index)[:1]:
        pair = meeting(analysis, cut.ops[0].site, reader.site)
        if pair is not None and pair[0].lineno < pair[1].lineno:
            yield (Again(*pair),)


def detached(analysis: Analysis, op: Op, operand: int = -1) -> Iterator[Remedies]:
    """The result of an op without its history; or one of its two operands, by what was read there."""
    place = analysis.capture.place(op.site)
    if place is not None and operand < 0:
        yield (Operand(place, "whole", "{}.detach()"),)
    elif place is not None and operand in op.inputs[:1]:
        yield (Operand(place, "first", "{}.detach()"),)
    elif place is not None and operand in op.inputs[1:2]:
        yield (Operand(place, "last", "{}.detach()"),)


_DIFFERENTIATE = ("grad", "jacobian", "hessian", "vjp", "jvp", "vhp", "hvp")
"""What torch.autograd and torch.autograd.functional differentiate with."""


def traced(analysis: Analysis, cut: GradientCut) -> Iterator[Remedies]:
    """A gradient that is differentiated again with its graph."""
    place = analysis.capture.place(cut.ops[0].site)
    if place is not None:
        yield from ((SetArgument(place, function, "create_graph", "True"),) for function in _DIFFERENTIATE)


def written_with_graph(analysis: Analysis, cut: GradientCut) -> Iterator[Remedies]:
    """What is written by way of an alias is computed from, or written to, the tensor itself."""
    capture, op = analysis.capture, cut.ops[0]
    place = capture.place(op.site)
    if place is None:
        return
    yield (NotCopied(place, called=True),)
    targets = {write.tensor for write in op.writes} | {*op.outputs}
    storages = {capture.tensors[tensor].storage for tensor in targets} - {-1}
    parameters = {t for t in targets if capture.tensors[t].kind == "parameter"}
    readers = (
        reader
        for reader in capture.ops[op.index + 1 :]
        if not reader.writes and any(capture.tensors[t].storage in storages for t in reader.inputs) and reader.call >= 0
    )
    for reader in readers:
        frames = [frame for frame in capture.site(reader.site) if frame.scope == place.scope]
        yield from ((CallWith(place, frame),) for frame in frames)
        break
    if op.writes and not parameters:
        yield (OutOfPlace(place, read_later=True),)
        yield (OffData(place),)


def served_elsewhere(analysis: Analysis, cut: GradientCut) -> bool:
    """Whether a value left autograd that has the parameters' gradient by another way than through this cut.

    That is never meant, and a `detach()` may be: without the one the other can stay.
    """
    leaves = Leaves(analysis.capture, analysis.flow)
    for other in analysis.harmful_cuts:
        read = [tensor for op in other.ops for tensor in op.inputs]
        made = [op for op in map(analysis.flow.birth, read) if op is not None]
        if other.cause == "left autograd" and any(set(cut.parameters) <= set(leaves.above(op)) for op in made):
            return True
    return False
