"""Which colour a box gets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from autograd_inspector.views.picture import palette
from autograd_inspector.views.picture.boxes import Box, Look
from autograd_inspector.views.picture.palette import Paint
from autograd_inspector.views.summaries.alarms import Tone

ColorBy = Literal["gradient", "device"]

_LOOKS: dict[Look, Paint] = {
    "flowing": palette.FLOWING,
    "still": palette.STILL,
    "learnt": palette.LEARNT,
    "given": palette.GIVEN,
    "start": palette.START,
    "warned": palette.WARNED,
    "broken": palette.BROKEN,
}


def painted(boxes: Iterable[Box], color_by: ColorBy) -> dict[int, Paint]:
    """The colours of each box: by what gradient does there, or by device (grey where it holds nothing)."""
    boxes = tuple(boxes)
    if color_by == "gradient":
        return {box.id: _LOOKS[box.look] for box in boxes}
    paints = palette.devices(devices_of(boxes))
    return {box.id: paints.get(" and ".join(box.devices), palette.STILL) for box in boxes}


def devices_of(boxes: Iterable[Box]) -> list[str]:
    """The devices, and combinations of them, that occur in boxes."""
    return sorted({" and ".join(box.devices) for box in boxes if box.devices})


TONES: dict[Tone, str] = {"error": palette.ALARM, "warning": palette.WARNING, "": palette.IDLE}
"""The colour of a mark, or of a line that gradient does not come back along."""
