"""``--try-fixes``: the program runs again in a process of its own, with the edits of a finding laid over its files."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from autograd_inspector.api.destinations import rank_of
from autograd_inspector.api.report import Report, ReportFormatError
from autograd_inspector.frontends.cli.outcome import Outcome
from autograd_inspector.model.edit import Verdict
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.wording import counted

_MOST = 8
"""Findings that are tried, the first."""
_LEAST_SECONDS = 60.0
_TIMES = 5
"""A trial may take as many times the first run."""

Say = Callable[[str], None]


def agreed(findings: int) -> bool:
    """Whether the user lets the program run again: what it writes, it writes again. Without a terminal it is agreed."""
    if not (sys.stdin and sys.stdin.isatty()):
        return True
    runs = counted(findings, "more time")
    sys.stderr.write(f"autograd-inspect: run the program {runs} to try the fixes? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def tried(outcome: Outcome, options: argparse.Namespace, seconds: float, say: Say) -> Outcome:
    """The outcome with what trials showed of its findings' edits."""
    return replace(
        outcome, reports=tuple((cell, _tried(report, options, seconds, say)) for cell, report in outcome.reports)
    )


def _tried(report: Report, options: argparse.Namespace, seconds: float, say: Say) -> Report:
    candidates = [finding for finding in report.findings if _is_tried(finding)][:_MOST]
    if candidates and rank_of(report) >= 0:
        say("fixes are not tried on several ranks")
        return report
    if not candidates or not agreed(len(candidates)):
        return report
    verdicts: dict[Finding, Verdict] = {}
    for finding in candidates:
        verdicts[finding] = _verdict(report, [finding], options, seconds, say)
    # Two may need each other: the one's edit alone leaves, or brings, the other.
    several = len(candidates) > 1 and "not cured" in verdicts.values()
    if several and _verdict(report, candidates, options, seconds, say) == "cured":
        verdicts = dict.fromkeys(candidates, "cured")
    return replace(
        report, findings=tuple(replace(f, verified=verdicts[f]) if f in verdicts else f for f in report.findings)
    )


def _is_tried(finding: Finding) -> bool:
    """A notebook's cells have no file that another text could be laid over."""
    return finding.severity != "info" and bool(finding.edits) and all(edit.cell is None for edit in finding.edits)


def _verdict(report: Report, findings: list[Finding], options: argparse.Namespace, seconds: float, say: Say) -> Verdict:
    codes = " and ".join(finding.rule for finding in findings)
    started = time.perf_counter()
    texts = replace(report, findings=tuple(findings)).patched()
    if not texts:
        say(f"{codes}: the program has changed since it was run, so the fix cannot be tried")
        return ""
    after = _run(texts, options, max(_LEAST_SECONDS, _TIMES * seconds))
    took = f"{time.perf_counter() - started:.1f} s"
    if after is None:
        say(f"{codes}: the trial of the fix did not end with a report ({took})")
        return "not cured"
    verdict: Verdict = "cured" if is_cured(report, after, findings) else "not cured"
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


def _run(texts: dict[str, str], options: argparse.Namespace, limit: float) -> Report | None:
    """The report of the program with other texts; None where it ended without one."""
    with tempfile.TemporaryDirectory() as folder:
        overlay, result = Path(folder) / "texts.json", Path(folder) / "report.json"
        overlay.write_text(json.dumps(texts), encoding="utf-8")
        command = [sys.executable, "-m", "autograd_inspector", "run", "--quiet", "--overlay", str(overlay)]
        command += ["--json", str(result), *(["--values"] if options.values else [])]
        command += [f"--ignore={code}" for code in options.ignore]
        command += [*(["--eager"] if options.eager else []), *(["-m"] if options.module else [])]
        try:
            subprocess.run(  # noqa: S603 - the user's own program
                [*command, options.program, *options.arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                timeout=limit,
            )
            return Report.from_json(result.read_bytes())
        except (subprocess.TimeoutExpired, OSError, ReportFormatError):
            return None
