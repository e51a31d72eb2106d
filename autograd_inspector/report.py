"""The report: a capture and what the rules conclude from it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.placement import Placement
from autograd_inspector.rules import findings_of

SCHEMA = 1
"""Version of the JSON form; a reader refuses any other."""


class Report(Struct, frozen=True, dict=True):
    """What one inspection saw (``capture``) and concluded (``findings``, most severe first)."""

    capture: Capture
    findings: tuple[Finding, ...] = ()
    ignored: int = 0
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA

    @property
    def placement(self) -> Placement:
        """One row a parameter: where it, its gradient and its optimizer state live."""
        return self.capture.placement


def report_of(capture: Capture, *, ignore: tuple[str, ...] = ()) -> Report:
    """Apply the rules to a capture."""
    found, notes = findings_of(capture)
    kept = tuple(f for f in found if not any(f.rule.startswith(code) for code in ignore))
    return Report(capture, kept, len(found) - len(kept), (*capture.notes, *notes))
