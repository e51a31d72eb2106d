"""What a rule concludes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_inspector.model.location import Location

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Finding(Struct, frozen=True, omit_defaults=True):
    """One cause, where it is, and what to write instead.

    ``locations`` has the culprit first; ``subjects`` are the names of the parameters, modules or ops concerned;
    ``details`` the steps of the story, one sentence each; ``consequences`` the findings that follow from this one.
    """

    rule: str
    name: str
    severity: Severity
    message: str
    fix: str = ""
    locations: tuple[Location, ...] = ()
    subjects: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    ops: tuple[int, ...] = ()
    consequences: tuple[str, ...] = ()
