"""AG306 where torch refuses a gradient that the program assigns: it fits the parameter of another model."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rewrites import Convert
from autograd_inspector.model.torch_errors import TorchError, says


def refused(analysis: Analysis) -> Iterator[Problem]:
    """The assignment that ended the program."""
    capture = analysis.capture
    said = says(capture.error, TorchError.GRADIENT_REFUSED)
    if said is None or capture.error_site < 0:
        return
    what = said[1] or "dtype or device"
    read = max(capture.grad_reads, key=lambda each: each.at, default=None)
    source = (
        "" if read is None or read.gradient < 0 else f": the .grad of {name_of(analysis, read.tensor)} was read last"
    )
    yield Problem(
        "error",
        f"a tensor with the wrong {what.removesuffix(' type')} is assigned to a .grad{source}",
        "Give it the dtype, the device and the shape of the parameter: `gradient.to(p).view_as(p)`.",
        analysis.user_frames(capture.error_site, "assigned here"),
        ("grad",) if read is None else (name_of(analysis, read.tensor), "grad"),
        cures=tuple(
            (Convert(place, shape="shape" in what or "size" in what),)
            for place in analysis.user_frames(capture.error_site, "")[:1]
        ),
    )
