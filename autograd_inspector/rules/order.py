"""Which finding comes first: the one to fix first."""

from __future__ import annotations

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import SEVERITIES, Finding

Place = tuple[str, int]

_BEGUN_OTHERWISE = {"AG205"}
"""Hints of what was lost before training: what they name learns, from other numbers."""
OF_WAYS = {"AG101", "AG102", "AG103", "AG104", "AG105", "AG108", "AG303"}
"""What starves a parameter is no hint with these: their hints are of those that learn by other ways."""

_HALTS = "AG413"
"""Where a step ends at a parameter without a gradient, those behind it do not move either: that comes before the one."""


def ordered(capture: Capture, findings: list[Finding]) -> list[Finding]:
    """The order in which to repair.

    What ended the program comes first, since nothing runs before it is repaired; then by severity; of equals by code,
    which follows a gradient's way: what cuts the graph, what spoils its values, what starves, what the optimizer does
    with it. Of hints those come last that tell of one of several ways of a gradient: what they name does learn. Findings
    of one rule keep that rule's order.
    """
    ends = _ending(capture)
    halted = [set(finding.subjects) for finding in findings if finding.rule == _HALTS]
    return sorted(
        findings,
        key=lambda finding: (
            SEVERITIES.index(finding.severity),
            not _explains(finding, ends),
            finding.severity == "info" and finding.rule in OF_WAYS | _BEGUN_OTHERWISE,
            _HALTS if finding.rule == "AG301" and any(set(finding.subjects) <= one for one in halted) else finding.rule,
            finding.rule != _HALTS,
        ),
    )


def _ending(capture: Capture) -> set[Place]:
    """The lines whose call raised what ended the program."""
    if not capture.error:
        return set()
    raised = [run.site for run in capture.backwards if _same(run.error, capture.error)]
    raised += [op.site for op in capture.ops if _same(op.error, capture.error)]
    raised += [step.site for step in capture.steps if _same(step.error, capture.error)]
    places = (capture.place(site) for site in raised)
    return {place.line for place in places if place is not None}


def _same(error: str, ended: str) -> bool:
    """Whether an exception's first line is that of the one that ended the program."""
    return bool(error) and error.partition("\n")[0][:200] in ended


def _explains(finding: Finding, ends: set[Place]) -> bool:
    return finding.severity == "error" and any(place.line in ends for place in finding.locations)
