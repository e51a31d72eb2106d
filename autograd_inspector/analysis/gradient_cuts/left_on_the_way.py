"""Losses computed under a no_grad that its own function had not left: a generator that yields within the block.

No backward runs from them where the program looks at ``requires_grad`` first. That they were to train something is seen
by the gradients that the program cleared for them, under the same switch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from autograd_inspector.analysis.dataflow import SKIPPED
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Region
from autograd_inspector.model.program_events import ZeroGradCalled


class LeftOn(Struct, frozen=True):
    """``used`` computes with ``tensors``, cleared by ``cleared``, in the ``region`` that the function of ``place`` began.

    ``last`` is what that function, or one that it called, computed last before.
    """

    region: Region
    place: Location
    cleared: ZeroGradCalled
    used: Op
    tensors: tuple[int, ...]
    last: Op | None


def left_on(capture: Capture, received: Collection[int]) -> Iterator[LeftOn]:
    """One for each line that switches, of parameters that are not in ``received``: they get no gradient at all."""
    clearings = capture.events_of(ZeroGradCalled)
    held = {o.id: set(o.held).difference(received) for o in capture.placement.optimizers}
    stepped = {step.optimizer for step in capture.steps}
    places: dict[int, Location | None] = {}
    inside: dict[int, Op] = {}
    found: dict[int, LeftOn] = {}
    tensors: dict[int, set[int]] = {}
    at = 0
    cleared: dict[int, ZeroGradCalled] = {}
    for op in capture.ops if clearings else ():
        while at < len(clearings) and clearings[at].at <= op.index:
            cleared[clearings[at].optimizer] = clearings[at]
            at += 1
        region = capture.regions[op.region]
        if op.recorded or op.has(SKIPPED) or not _thrown(region):
            continue
        place = places[region.site] = places[region.site] if region.site in places else capture.place(region.site)
        if place is None:
            continue
        if any(frame.scope == place.scope for frame in capture.site(op.site)):
            inside[region.site] = op
            continue
        for optimizer, event in cleared.items() if op.call >= 0 else ():
            if optimizer in stepped or event.at < region.at:
                continue
            mine = held.get(optimizer, set()).intersection(op.inputs)
            if mine:
                tensors.setdefault(region.site, set()).update(mine)
                found.setdefault(region.site, LeftOn(region, place, event, op, (), inside.get(region.site)))
    for site, each in found.items():
        yield LeftOn(each.region, each.place, each.cleared, each.used, tuple(sorted(tensors[site])), each.last)


def _thrown(region: Region) -> bool:
    """Whether a block of the program's own switched grad mode off."""
    return region.kind != "enabled" and not (region.at_entry or region.decorated or region.library) and region.site >= 0
