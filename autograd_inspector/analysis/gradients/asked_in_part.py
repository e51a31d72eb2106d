"""Calls of ``autograd.grad(..., allow_unused=True)`` that returned None for some of what was asked for."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture


def answered_in_part(capture: Capture) -> Iterator[Backward]:
    """The runs of such calls, in program order."""
    for run in capture.backwards:
        call = capture.ops[run.end] if run.api == "grad" and not run.error and run.end < len(capture.ops) else None
        if call is not None and call.name == "grad" and len(call.outputs) < len(run.reached):
            yield run
