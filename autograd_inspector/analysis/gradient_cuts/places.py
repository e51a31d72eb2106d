"""Where a cut is to be repaired."""

from __future__ import annotations

from autograd_inspector.analysis.gradient_cuts.classifier import Cause
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def place_of(capture: Capture, op: Op, cause: Cause) -> tuple[str, int]:
    """The line that is to blame: the op's own, or that of the switch it ran under."""
    region = capture.regions[op.region]
    switched = cause in {"no_grad", "inference_mode"}
    site = op.site
    if switched:
        site = region.definition if region.definition >= 0 else region.site
    place = capture.place(site)
    return place.line if place is not None else ("", region.id if switched else op.site)
