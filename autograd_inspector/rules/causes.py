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
    """Findings that follow from another one become a line in that one's ``consequences``."""
    causes: list[Finding] = []
    for finding in findings:
        at = next((i for i, cause in enumerate(causes) if _follows(finding, cause)), None)
        if at is None:
            causes.append(finding)
        else:
            told = f"{finding.rule} {finding.name}: {finding.message}"
            causes[at] = replace(causes[at], consequences=(*causes[at].consequences, told))
    return causes


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
