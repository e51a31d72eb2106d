"""Trials: the program runs again with the edits of a finding, or of several that need each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from autograd_inspector.api.report import Report
from autograd_inspector.model.edit import Verdict
from autograd_inspector.model.finding import Finding

_MOST = 8
"""Findings that are tried, the first."""

Rerun = Callable[[dict[str, str]], Report | None]
"""Runs the program with other texts of its files; None where that ends without a report."""

Say = Callable[[str], None]


def candidates(report: Report) -> list[Finding]:
    """The findings whose edits are worth a trial."""
    return [finding for finding in report.findings if finding.severity != "info" and finding.edits][:_MOST]


def tried(report: Report, findings: list[Finding], rerun: Rerun, say: Say) -> Report:
    """The report with what trials showed of some findings' edits: alone, else of the fewest that cure together."""
    verdicts = {finding: _verdict(report, [finding], rerun, say) for finding in findings}
    if len(findings) > 1 and "not cured" in verdicts.values():
        verdicts |= dict.fromkeys(_fewest(report, findings, verdicts, rerun, say), "cured")
    return replace(
        report, findings=tuple(replace(f, verified=verdicts[f]) if f in verdicts else f for f in report.findings)
    )


def _fewest(
    report: Report, findings: list[Finding], verdicts: dict[Finding, Verdict], rerun: Rerun, say: Say
) -> list[Finding]:
    """Findings that need each other: one's edit alone leaves, or brings, another. None of them can be left out."""
    alone = [finding for finding in findings if verdicts[finding] != "cured"]
    groups = [group for group in (alone, findings) if len(group) > 1]
    for group in groups if alone != findings else groups[:1]:
        if _verdict(report, group, rerun, say) != "cured":
            continue
        needed = list(group)
        for finding in group:
            fewer = [each for each in needed if each is not finding]
            if len(fewer) > 1 and _verdict(report, fewer, rerun, say, whole=needed) == "cured":
                needed = fewer
        return needed
    return []


def _verdict(
    report: Report, findings: list[Finding], rerun: Rerun, say: Say, whole: list[Finding] | None = None
) -> Verdict:
    """Whether the edits of these cure them, or ``whole``."""
    codes = " and ".join(finding.rule for finding in findings)
    texts = replace(report, findings=tuple(findings)).patched()
    if not texts:
        say(f"{codes}: the program has changed since it was run, so the fix cannot be tried")
        return ""
    started = time.perf_counter()
    after = rerun(texts)
    took = f"{time.perf_counter() - started:.1f} s"
    if after is None:
        say(f"{codes}: the trial of the fix did not end with a report ({took})")
        return "not cured"
    verdict: Verdict = "cured" if is_cured(report, after, whole or findings) else "not cured"
    said = "cures it" if verdict == "cured" else "does not cure it"
    say(f"{codes}: the fix {said} (tried in {took})")
    return verdict


def is_cured(before: Report, after: Report, findings: Iterable[Finding]) -> bool:
    """Whether a run with the edits tells less of these rules and no more of any other, and raises nothing new."""
    then, now = _loud(before), _loud(after)
    fewer = all(now.count(f.rule) <= then.count(f.rule) - 1 for f in findings)
    more = any(now.count(rule) > then.count(rule) for rule in now)
    raised = bool(after.capture.error) and after.capture.error != before.capture.error
    return fewer and not more and not raised


def _loud(report: Report) -> list[str]:
    return [finding.rule for finding in report.findings if finding.severity != "info"]
