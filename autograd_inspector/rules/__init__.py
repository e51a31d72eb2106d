"""Facts -> findings: one module a family of rules."""

from __future__ import annotations

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import Finding


def findings_of(capture: Capture) -> tuple[Finding, ...]:
    return ()
