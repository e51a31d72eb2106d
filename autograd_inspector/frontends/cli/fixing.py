"""``--diff`` and ``--fix``: the edits of the findings, shown or made."""

from __future__ import annotations

import os
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograd_inspector.api.report import Report
from autograd_inspector.model.wording import agree, counted
from autograd_inspector.views.display_text import unedited_text
from autograd_inspector.views.whole import write_whole


def patch_of(reports: Iterable[Report], *, unsafe: bool) -> str:
    """The edits of several reports as one diff, the names of files below the working folder relative to it."""
    return "".join(report.to_patch(unsafe=unsafe) for report in reports)


def fixed(reports: Iterable[Report], *, unsafe: bool, begun: float) -> Iterator[str]:
    """Make the edits; a line for each file that was changed, or why it was not.

    A file that was written to after the run had ``begun`` (seconds since the epoch) is left alone:
    it may not be what ran.
    """
    for report in reports:
        for name, text in report.patched(unsafe=unsafe).items():
            yield _rewritten(Path(name), text, begun)


def left_out(reports: Iterable[Report]) -> str:
    """That there are edits which are not safe; "" where there are none."""
    count = sum(
        finding.applicability == "unsafe" and finding.severity != "info"
        for report in reports
        for finding in report.findings
    )
    if not count:
        return ""
    one, them = agree(count, "it", "they"), agree(count, "it", "them")
    return (
        f"{counted(count, 'unsafe fix', 'unsafe fixes')} {agree(count, 'is', 'are')} left out, because {one} may "
        f"change what the program does: add --unsafe-fixes to include {them}"
    )


def unedited(reports: Iterable[Report]) -> Iterator[str]:
    """A line for each finding that has no edit: why."""
    for report in reports:
        for finding in report.findings:
            if unedited_text(finding):
                where = f" ({finding.locations[0].place})" if finding.locations else ""
                yield f"{finding.rule}{where}: no edit: {unedited_text(finding)}"


def _rewritten(path: Path, text: str, begun: float) -> str:
    shown = os.path.relpath(path) if path.is_absolute() else str(path)
    if not path.is_file():
        return f"{shown} is not a file (a notebook's cell?): --diff prints its edits"
    try:
        if path.stat().st_mtime > begun:
            return f"{shown} has changed since it was run: not modified"
        with tokenize.open(path) as file:
            encoding, newlines = file.encoding, (file.read(), file.newlines)[1]
        ending = newlines if isinstance(newlines, str) else "\n"
        write_whole(path, text.replace("\n", ending).encode(encoding))
    except (OSError, SyntaxError, UnicodeError) as failure:
        return f"cannot write {shown}: {failure}"
    return f"fixed {shown}"
