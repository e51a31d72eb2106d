"""What is left to say once the rules have spoken: one finding a cause, minus what the program asks to ignore."""

from __future__ import annotations

import re

from msgspec.structs import replace

from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.order import OF_WAYS

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
    "AG109": {"AG413"},
    "AG205": {"AG301"},
    "AG206": {"AG301"},
    "AG304": {"AG303"},
    "AG305": {"AG205", "AG301"},
    "AG405": {"AG301", "AG305", "AG404"},
    "AG403": {"AG409"},
    "AG407": {"AG204"},
    "AG601": {"AG301", "AG305"},
    "AG603": {"AG301"},
}
"""Cause -> what follows from it for the same parameters."""


_CAUSES = {
    code: [cause for cause, effects in _FOLLOW.items() if code in effects]
    for code in frozenset().union(*_FOLLOW.values())
}


def merged(findings: list[Finding]) -> list[Finding]:
    """Findings that follow from another one, wherever it stands, become a line in that one's ``consequences``.

    Of findings that say the same of the same lines one is left: a failure that the program catches, again and again.
    """
    findings = _each_once(findings)
    roots = _roots(findings)
    consequences_of: dict[int, list[str]] = {at: [] for at, root in enumerate(roots) if at == root}
    for at, root in enumerate(roots):
        if at != root:
            consequences_of[root].append(f"{findings[at].rule} {findings[at].name}: {findings[at].message}")
    return [
        replace(findings[at], consequences=(*findings[at].consequences, *lines)) if lines else findings[at]
        for at, lines in consequences_of.items()
    ]


def _each_once(findings: list[Finding]) -> list[Finding]:
    ops: dict[Finding, dict[int, None]] = {}
    for finding in findings:
        ops.setdefault(replace(finding, ops=()), {}).update(dict.fromkeys(finding.ops))
    return [replace(finding, ops=tuple(all_ops)) for finding, all_ops in ops.items()]


def _roots(findings: list[Finding]) -> list[int]:
    """For each finding the one that it follows from, by way of others perhaps; itself where it follows from none.

    A hint that one of several ways is cut explains no warning: what it tells of does no harm by itself.
    """
    subjects = [set(finding.subjects) for finding in findings]
    causes: dict[tuple[str, str], list[int]] = {}
    """(rule, a subject, "" for any) -> the findings of that rule which are about it."""
    for at, finding in enumerate(findings):
        for subject in ("", *subjects[at]) if finding.rule in _FOLLOW else ():
            causes.setdefault((finding.rule, subject), []).append(at)

    def explains(other: int, at: int) -> bool:
        hint = findings[other].severity == "info" and findings[other].rule in OF_WAYS
        return subjects[at] <= subjects[other] and (not hint or findings[at].severity == "info")

    def cause(at: int) -> int:
        one = next(iter(findings[at].subjects), "")
        candidates = (
            next((other for other in causes.get((rule, one), ()) if explains(other, at)), len(findings))
            for rule in _CAUSES.get(findings[at].rule, ())
        )
        first = min(candidates, default=len(findings))
        return at if first == len(findings) else cause(first)

    return [cause(at) for at in range(len(findings))]


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
