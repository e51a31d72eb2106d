"""``--try-fixes``: the program runs again in a process of its own, with the edits of a finding laid over its files."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec.structs import replace

from autograd_inspector.api.destinations import rank_of
from autograd_inspector.api.report import Report, ReportFormatError
from autograd_inspector.api.trials import Say, candidates, most_trials
from autograd_inspector.api.trials import tried as tried_each
from autograd_inspector.frontends.cli.outcome import Outcome
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.wording import counted

_LEAST_SECONDS = 60.0
_TIMES = 5
"""A trial may take as many times the first run."""


def agreed(trials: int) -> bool:
    """Whether the user lets the program run again: what it writes, it writes again. Without a terminal it is agreed."""
    if not (sys.stdin and sys.stdin.isatty()):
        return True
    runs = counted(trials, "more time")
    sys.stderr.write(f"autograd-inspect: run the program up to {runs} to try the fixes? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def tried(outcome: Outcome, options: argparse.Namespace, seconds: float, say: Say) -> Outcome:
    """The outcome with what trials showed of its findings' edits."""
    return replace(
        outcome, reports=tuple((cell, _tried(report, options, seconds, say)) for cell, report in outcome.reports)
    )


def _tried(report: Report, options: argparse.Namespace, seconds: float, say: Say) -> Report:
    # A notebook's cells have no file that another text could be laid over.
    findings = [each for each in candidates(report) if _in_files(each)]
    if findings and rank_of(report) >= 0:
        say("fixes are not tried on several ranks")
        return report
    if not findings or not agreed(most_trials(findings)):
        return report
    limit = max(_LEAST_SECONDS, _TIMES * seconds)
    return tried_each(report, findings, lambda texts: _run(texts, options, limit), say)


def _in_files(finding: Finding) -> bool:
    ways = (finding.edits, *(other.edits for other in finding.alternatives))
    return all(edit.cell is None for edits in ways for edit in edits)


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
