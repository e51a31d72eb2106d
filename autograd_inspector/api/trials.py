"""Trials: the program runs again with the edits of a finding, or of several that need each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from autograd_inspector.api.report import Report
from autograd_inspector.model.edit import Alternative, Verdict
from autograd_inspector.model.finding import Finding

_MOST = 8
"""Findings that are tried, the first."""
_PAIR = 2

Rerun = Callable[[dict[str, str]], Report | None]
"""Runs the program with other texts of its files; None where that ends without a report."""

Say = Callable[[str], None]


def candidates(report: Report) -> list[Finding]:
    """The findings whose edits are worth a trial."""
    return [finding for finding in report.findings if finding.severity != "info" and finding.edits][:_MOST]


def most_trials(findings: Iterable[Finding]) -> int:
    """How often the program may run again to try each edit of them alone."""
    return sum(1 + len(finding.alternatives) for finding in findings)


def tried(report: Report, findings: list[Finding], rerun: Rerun, say: Say) -> Report:
    """The report with what trials showed of some findings' edits: alone, else of the fewest that cure together.

    A finding has the first of its alternatives that cures it as its edits then, and those before among the others.
    """
    trials = Trials(report, rerun, say)
    best = {finding: _first_that_cures(trials, finding) for finding in findings}
    after = list(best.values())
    if len(after) > 1 and any(finding.verified == "not cured" for finding in after):
        needed = _fewest(trials, after)
        best = {one: replace(each, verified="cured") if each in needed else each for one, each in best.items()}
    return replace(report, findings=tuple(best.get(finding, finding) for finding in report.findings))


def _first_that_cures(trials: Trials, finding: Finding) -> Finding:
    """The finding with the verdict on each alternative, up to the first that cures it."""
    ways = [Alternative(finding.edits, finding.patch), *finding.alternatives]
    for number, way in enumerate(ways):
        which = f"fix {number + 1} of {len(ways)}" if len(ways) > 1 else "the fix"
        verdict = trials.verdict([_by(finding, way)], which=which)
        ways[number] = replace(way, verified=verdict)
        if verdict != "not cured":
            break
    own = next((way for way in ways if way.verified == "cured"), ways[0])
    others = tuple(way for way in ways if way is not own)
    return replace(_by(finding, own), verified=own.verified, alternatives=others)


def _by(finding: Finding, way: Alternative) -> Finding:
    return replace(finding, edits=way.edits, patch=way.patch)


def _fewest(trials: Trials, findings: list[Finding]) -> list[Finding]:
    """Findings that need each other: one's edit alone leaves, or brings, another. None of them can be left out."""
    alone = [finding for finding in findings if finding.verified != "cured"]
    for group in (alone, findings) if alone != findings else (alone,):
        if len(group) < _PAIR:
            continue
        needed = list(group)
        if trials.verdict(needed) != "cured":
            # What was told in spite of its edit is none of them.
            needed = [finding for finding in group if trials.gone(finding)]
            if not _PAIR <= len(needed) < len(group) or trials.verdict(needed) != "cured":
                continue
        for finding in list(needed):
            fewer = [each for each in needed if each is not finding]
            if len(fewer) > 1 and trials.verdict(fewer, whole=needed) == "cured":
                needed = fewer
        return needed
    return []


class Trials:
    """Runs the program with the edits of some findings, and compares what is told."""

    def __init__(self, report: Report, rerun: Rerun, say: Say) -> None:
        self._report, self._rerun, self._say = report, rerun, say
        self._after: Report | None = None

    def gone(self, finding: Finding) -> bool:
        """Whether the last trial told less of that finding's rule."""
        if self._after is None:
            return False
        return _loud(self._after).count(finding.rule) < _loud(self._report).count(finding.rule)

    def verdict(
        self, findings: list[Finding], whole: list[Finding] | None = None, *, which: str = "the fix"
    ) -> Verdict:
        """Whether the edits of these cure them, or ``whole``; ``which`` of a finding's are tried."""
        codes = " and ".join(finding.rule for finding in findings)
        texts = replace(self._report, findings=tuple(findings)).patched()
        self._after = None
        if not texts:
            self._say(f"{codes}: the program has changed since it was run, so {which} cannot be tried")
            return ""
        started = time.perf_counter()
        self._after = self._rerun(texts)
        took = f"{time.perf_counter() - started:.1f} s"
        if self._after is None:
            self._say(f"{codes}: the trial of {which} produced no report ({took})")
            return "not cured"
        cured = is_cured(self._report, self._after, whole or findings)
        self._say(f"{codes}: {which} {'cures it' if cured else 'does not cure it'} (tried in {took})")
        return "cured" if cured else "not cured"


def is_cured(before: Report, after: Report, findings: Iterable[Finding]) -> bool:
    """Whether a run with the edits tells less of these rules and no more of any other, and raises nothing new."""
    then, now = _loud(before), _loud(after)
    fewer = all(now.count(f.rule) <= then.count(f.rule) - 1 for f in findings)
    more = any(now.count(rule) > then.count(rule) for rule in now)
    raised = bool(after.capture.error) and after.capture.error != before.capture.error
    return fewer and not more and not raised


def _loud(report: Report) -> list[str]:
    return [finding.rule for finding in report.findings if finding.severity != "info"]
