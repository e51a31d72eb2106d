"""What a rule concludes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import astuple

from autograd_inspector.model.excerpt import Excerpt, excerpts_of
from autograd_inspector.model.location import Location

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Problem(Struct, frozen=True):
    """What a rule found: one cause, where it is, and what to write instead.

    ``locations`` has the culprit first; ``subjects`` are the names of the parameters, modules or ops concerned;
    ``details`` the steps of the story, one sentence each; ``ops`` the indices of the ops that show it.
    """

    severity: Severity
    message: str
    fix: str = ""
    locations: tuple[Location, ...] = ()
    subjects: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    ops: tuple[int, ...] = ()


class Finding(Struct, frozen=True, omit_defaults=True):
    """A problem under the code and the name of the rule that found it.

    ``consequences`` are the findings that follow from this one, ``excerpts`` the lines of ``locations`` in the text
    around them.
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
    excerpts: tuple[Excerpt, ...] = ()

    @property
    def code(self) -> tuple[Excerpt, ...]:
        """The excerpts; of a report that was kept without the text, the lines alone."""
        return self.excerpts or excerpts_of(self.locations, lambda _: {})

    @classmethod
    def of(cls, rule: str, name: str, problem: Problem) -> Finding:
        """What a rule found, as its finding."""
        return cls(rule, name, *astuple(problem))
