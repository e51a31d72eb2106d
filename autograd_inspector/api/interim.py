"""Findings on a program that still runs: those which nothing that comes later takes back."""

from __future__ import annotations

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules import findings_of, unignored
from autograd_inspector.views.archive import storable

CODES = (
    *("AG101", "AG102", "AG103", "AG104", "AG105", "AG106", "AG201", "AG203", "AG302", "AG304", "AG307"),
    *("AG415", "AG501"),
)
"""Rules that tell of an exception, of a value, or of a read that has happened."""

_READ = "AG302"
"""Its warnings are of reads that have happened; a warning of the others is of what a program did not do so far."""


def certain_findings(capture: Capture, ignore: tuple[str, ...] = ()) -> tuple[Finding, ...]:
    """What an interim capture proves, in the order in which to repair it."""
    findings, _ = findings_of(storable(capture), codes=CODES)
    return tuple(f for f in unignored(findings, ignore) if f.severity == "error" or f.rule == _READ)
