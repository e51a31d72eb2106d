"""Where the report on a training step goes: Python's logger, files, the panel; and its form for trackers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

from autograd_inspector.api.destinations import own_file, rank_of
from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.api.report import Report
from autograd_inspector.integrations.vitals_files import scalars_of
from autograd_inspector.model.finding import SEVERITIES, Finding
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.views.summaries.ranks import headline as ranks_headline
from autograd_inspector.views.summary import brief, headline
from autograd_inspector.views.whole import write_whole

LOGGER = logging.getLogger("autograd_inspector")
FORMATS = ("html", "json", "txt")
TAG = "autograd_inspector"


def deliver(step: int, report: Report, folder: Path, formats: tuple[str, ...]) -> str:
    """Write the files, log what was found, list it in the panel; returns the report in a few lines."""
    paths = [_written(report, folder, stem_of(step, report), suffix) for suffix in formats]
    text = said_of(step, report)
    level = logging.ERROR if report.capture.error else logging.WARNING if _grave(report) else logging.INFO
    LOGGER.log(level, "\n".join([text, *(f"  report: {path}" for path in paths[:1])]))
    if "IPython" in sys.modules:
        from autograd_inspector.kernel.hub.kernel import add

        add(report)
    return text


def deliver_ranks(merged: RanksReport, told: Container[Finding], folder: Path, formats: tuple[str, ...]) -> None:
    """Write what the ranks' reports on one step are together; log what no rank has ``told`` yet."""
    writers = {"html": merged.to_html, "json": merged.to_json, "txt": merged.to_text}
    paths = [folder / f"all-ranks.{suffix}" for suffix in formats]
    for suffix, path in zip(formats, paths, strict=True):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, writers[suffix]())
    new = [one for one in merged.findings if one.finding.severity != "info" and one.finding not in told]
    lines = [f"all ranks: {ranks_headline(merged.placement, merged.findings)}"]
    lines += [f"on {ranks_text(one.ranks)}: {brief(one.finding)}" for one in new]
    LOGGER.log(logging.WARNING if new else logging.INFO, "\n".join([*lines, *(f"  report: {p}" for p in paths[:1])]))


def said_of(step: int, report: Report) -> str:
    """The step in one line, the findings that matter in a few lines each."""
    raised = report.capture.error.splitlines()[:1]
    outcome = f"step {step} raised {raised[0]}" if raised else f"step {step}"
    rank = rank_of(report)
    whose, seen = (f"rank {rank}, ", " of this rank") if rank >= 0 else ("", "")
    unexplained = f"; no finding{seen} explains it" if raised and not _grave(report) else ""
    return "\n".join([f"{whose}{outcome}: {headline(report)}{unexplained}", *map(brief, _grave(report))])


def counts_of(report: Report) -> dict[str, float]:
    """Findings by severity, and the last step's vitals, as numbers that any tracker draws over the steps."""
    counts = {severity: sum(finding.severity == severity for finding in report.findings) for severity in SEVERITIES}
    found = {f"{TAG}/{severity}": float(count) for severity, count in counts.items()}
    return found | scalars_of(report.vitals, TAG)


def add_text(writers: Iterable[Any], text: str, step: int) -> None:
    """Show the text in TensorBoard: to each writer that has SummaryWriter's ``add_text``."""
    for writer in writers:
        add = getattr(writer, "add_text", None)
        if callable(add):
            # TensorBoard reads Markdown, in which an indented line is kept as it is.
            add(TAG, "\n".join(f"    {line}" for line in text.splitlines()), step)
            # A step that raised may be the end of the process: a launcher kills the ranks that are left.
            flush = getattr(writer, "flush", None)
            if callable(flush):
                flush()


def stem_of(step: int, report: Report) -> str:
    """``step-000123``, and with several ranks whose it is."""
    return own_file(f"step-{step:06d}", rank=rank_of(report))


def _written(report: Report, folder: Path, stem: str, suffix: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.{suffix}"
    text = {"html": report.to_html, "json": report.to_json, "txt": report.to_text}[suffix]()
    # Whole or not at all: when a rank fails, its launcher kills the others, whatever they are writing.
    write_whole(path, text)
    return path


def _grave(report: Report) -> list[Any]:
    return [finding for finding in report.findings if finding.severity != "info"]
