"""What is left to say once the rules have spoken: one finding a cause, minus what the program asks to ignore."""

from __future__ import annotations

import re

from msgspec.structs import replace

from autograd_inspector.model.finding import Finding

_COMMENT = re.compile(r"#\s*autograd-inspect:\s*ignore(?:\[(?P<codes>[^\]]*)\])?")

_FOLLOW = {
    "AG101": {"AG301", "AG303", "AG404"},
    "AG102": {"AG301", "AG303", "AG404"},
    "AG103": {"AG301", "AG303", "AG404"},
    "AG104": {"AG301", "AG303", "AG404"},
    "AG105": {"AG301", "AG303", "AG404"},
    "AG106": {"AG301", "AG404"},
    "AG107": {"AG301", "AG404"},
    "AG108": {"AG301"},
    "AG304": {"AG303"},
    "AG405": {"AG301", "AG305", "AG404"},
    "AG403": {"AG409"},
}
"""Cause -> what follows from it for the same parameters."""


def merged(findings: list[Finding]) -> list[Finding]:
    """Findings that follow from another one, wherever it stands, become a line in that one's ``consequences``."""
    roots = [_root(findings, at) for at in range(len(findings))]
    told: dict[int, list[str]] = {at: [] for at, root in enumerate(roots) if at == root}
    for at, root in enumerate(roots):
        if at != root:
            told[root].append(f"{findings[at].rule} {findings[at].name}: {findings[at].message}")
    return [
        replace(findings[at], consequences=(*findings[at].consequences, *lines)) if lines else findings[at]
        for at, lines in told.items()
    ]


def _root(findings: list[Finding], at: int) -> int:
    """The finding that this one follows from, by way of others perhaps; itself where it follows from none."""
    cause = next((i for i, other in enumerate(findings) if i != at and _follows(findings[at], other)), at)
    return at if cause == at else _root(findings, cause)


def _follows(finding: Finding, cause: Finding) -> bool:
    return finding.rule in _FOLLOW.get(cause.rule, ()) and set(finding.subjects) <= set(cause.subjects)


def unignored(findings: tuple[Finding, ...], codes: tuple[str, ...]) -> tuple[Finding, ...]:
    """Findings that neither a code (or its prefix) nor a comment on the culprit's line asks to ignore.

    The comment is ``# autograd-inspect: ignore[AG406]``, several codes with commas, or all rules without brackets.
    """
    return tuple(f for f in findings if not (f.rule.startswith(codes) if codes else False) and not _commented(f))


def _commented(finding: Finding) -> bool:
    comment = _COMMENT.search(finding.locations[0].source) if finding.locations else None
    if comment is None:
        return False
    codes = comment["codes"]
    return codes is None or any(finding.rule.startswith(code.strip()) for code in codes.split(",") if code.strip())
