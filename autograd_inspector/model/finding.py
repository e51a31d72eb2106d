"""What a rule concludes."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from autograd_inspector.model.edit import Alternative, Applicability, Edit, Unedited, Verdict, Written
from autograd_inspector.model.excerpt import Excerpt, excerpts_of
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.long_lines import cut_changes
from autograd_inspector.model.remedy import Remedies

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Problem(Struct, frozen=True):
    """What a rule found: one cause, where it is, and what to write instead.

    ``locations`` has the culprit first; ``subjects`` are the names of the parameters, modules or ops concerned; the
    finding has each line, name and op once. ``details`` the steps of the story, one sentence each; ``ops`` the indices
    of the ops that show it. ``cures`` are ways to change the program so that the problem is gone, the best first;
    ``safe``: it means the same afterwards, apart from that.
    """

    severity: Severity
    message: str
    fix: str = ""
    locations: tuple[Location, ...] = ()
    subjects: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    ops: tuple[int, ...] = ()
    cures: tuple[Remedies, ...] = ()
    safe: bool = False


Across = tuple[Problem, tuple[int, ...]]
"""A problem that several ranks have together, and those that have it."""


class Finding(Struct, frozen=True, omit_defaults=True):
    """A problem, with the code and the name of the rule that found it.

    ``consequences`` are the findings that follow from this one. ``excerpts`` are the lines of ``locations`` with the
    text around them. ``edits`` together fix this finding; ``applicability`` says whether they are safe to apply without
    a review, ``verified`` what a trial run with them showed, and ``patch`` is their unified diff. ``alternatives`` are
    other edits that would fix it. Where there are no edits, ``unedited`` says why.
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
    edits: tuple[Edit, ...] = ()
    applicability: Applicability = ""
    verified: Verdict = ""
    patch: str = ""
    alternatives: tuple[Alternative, ...] = ()
    unedited: Unedited | None = None

    @property
    def code(self) -> tuple[Excerpt, ...]:
        """The excerpts; only the lines themselves if the report was saved without the text around them."""
        return self.excerpts or excerpts_of(self.locations, lambda _: {})

    @property
    def names_all(self) -> bool:
        """Whether the message names everything that the finding concerns."""
        return all(
            re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.[\w*])", self.message) is not None for name in self.subjects
        )

    @property
    def changes(self) -> tuple[str, ...]:
        """The patch without headers and common indentation; each line has its sign, and long lines are shortened."""
        lines: list[str] = []
        for line in self.patch.split("\n"):
            if line.startswith("@@"):
                lines += [""] if lines else []
            elif line[:1] in {" ", "-", "+"} and not line.startswith(("--- ", "+++ ")):
                lines.append(line)
        while lines and not lines[-1][1:].strip() and lines[-1][:1] in {"", " "}:
            lines.pop()
        indent = min((len(line[1:]) - len(line[1:].lstrip()) for line in lines if line[1:].strip()), default=0)
        return cut_changes([line[:1] + line[1 + indent :] for line in lines])

    @classmethod
    def of(cls, rule: str, name: str, problem: Problem, written: Written = Written()) -> Finding:  # noqa: B008 - frozen
        """The finding for a problem of a rule, with the edits that can be written."""
        return cls(
            rule,
            name,
            problem.severity,
            problem.message,
            problem.fix,
            dedupe_locations(problem.locations),
            tuple(dict.fromkeys(problem.subjects)),
            problem.details,
            tuple(dict.fromkeys(problem.ops)),
            edits=written.edits,
            applicability="" if not written.edits else "safe" if problem.safe else "unsafe",
            alternatives=tuple(map(Alternative, written.others)),
            unedited=written.unedited,
        )
