"""What the magic and the command line both understand: rule codes, and the files that a report goes into."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from autograd_inspector.gathered import RanksReport
from autograd_inspector.report import Report

_CODE = re.compile(r"AG\d{1,3}")


def codes(text: str) -> tuple[str, ...]:
    """``AG406,AG1``: rule codes or their beginnings."""
    given = tuple(code.strip().upper() for code in text.split(",") if code.strip())
    for code in given:
        if not _CODE.fullmatch(code):
            raise argparse.ArgumentTypeError(f"{code!r} is not a rule code such as AG406, nor the beginning of one")
    return given


def numbered(path: str, cell: int) -> str:
    """``report.html`` of cell 3: ``report-3.html``; 0 stands for a program without cells."""
    file = Path(path)
    return str(file.with_name(f"{file.stem}-{cell}{file.suffix}")) if cell else path


def written(report: Report | RanksReport, *, html: str | None, json: str | None) -> Iterator[str]:
    """Write the files that were asked for, and say what came of each."""
    for path, write in (
        (html, report.to_html),
        (json, lambda file: file.write_text(report.to_json(), "utf-8")),
    ):
        if not path:
            continue
        try:
            write(Path(path).expanduser())
        except OSError as failure:
            yield f"cannot write {path}: {failure.strerror or failure}"
        else:
            yield f"wrote {path}"
