"""What the magic and the command line both understand: rule codes, and the files that a report goes into."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from autograd_inspector.gathered import RanksReport
from autograd_inspector.report import Report

_CODE = re.compile(r"AG\d{1,3}")


def codes(text: str) -> tuple[str, ...]:
    """``AG406,AG1,detached``: rule codes, their beginnings, or rule names, as codes; raises ArgumentTypeError."""
    return tuple(_code(given.strip()) for given in text.split(",") if given.strip())


def _code(given: str) -> str:
    from autograd_inspector.rules import CATALOGUE

    named = [rule.code for rule in CATALOGUE.values() if rule.name == given.lower()]
    code = named[0] if named else given.upper()
    if not _CODE.fullmatch(code):
        raise argparse.ArgumentTypeError(f"{given!r} is not a rule code such as AG406, nor the beginning of one")
    if not any(known.startswith(code) for known in CATALOGUE):
        raise argparse.ArgumentTypeError(f"there is no rule {given!r}; `autograd-inspect rule --all` lists them")
    return code


def numbered(path: str, cell: int) -> str:
    """``report.html`` of cell 3: ``report-3.html``; 0 stands for a program without cells."""
    file = Path(path)
    return str(file.with_name(f"{file.stem}-{cell}{file.suffix}")) if cell else path


def written(report: Report | RanksReport, *, html: str | None, json: str | None) -> Iterator[str]:
    """Write the files that were asked for, and say what came of each."""
    if html:
        yield saved(html, report.to_html)
    if json:
        yield saved(json, lambda file: file.write_text(report.to_json(), "utf-8"))


def saved(path: str, write: Callable[[Path], object]) -> str:
    """Write one file, and say what came of it."""
    try:
        write(Path(path).expanduser())
    except OSError as failure:
        return f"cannot write {path}: {failure.strerror or failure}"
    return f"wrote {path}"


def unwritable(path: str) -> str:
    """Why no file can be written there; "" where one can, as far as can be told without writing it."""
    file = Path(path).expanduser()
    if file.is_dir():
        return f"cannot write {path}: it is a folder"
    return "" if file.parent.is_dir() else f"cannot write {path}: there is no folder {file.parent}"
