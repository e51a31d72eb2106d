"""The files that a report goes into: one of its own for each cell and each rank."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.api.report import Report
from autograd_inspector.views.whole import write_whole


def rank_of(report: Report | None = None) -> int:
    """Which of several ranks this process is, -1 where it is alone.

    The process group that the program had knows it; else what started the ranks, as torchrun does: RANK, WORLD_SIZE.
    """
    if report is not None and report.capture.world_size > 1:
        return report.capture.rank
    try:
        rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return -1
    return rank if 0 <= rank < world_size > 1 else -1


def own_file(path: str, *, cell: int = 0, rank: int = -1) -> str:
    """``report.html`` of cell 3 on rank 1: ``report-3-rank1.html``; 0 and -1 stand for no cells and no other ranks.

    Rank 0 has its number too: then all ranks' files are ``report-rank*.json``, and nothing else is.
    """
    number = (f"-{cell}" if cell else "") + (f"-rank{rank}" if rank >= 0 else "")
    file = Path(path)
    return str(file.with_name(f"{file.stem}{number}{file.suffix}")) if number else path


class Saved(Struct, frozen=True):
    """What came of writing a file; ``problem``: why there is none, "" where it is there."""

    path: str
    problem: str = ""

    @property
    def line(self) -> str:
        """To be printed."""
        return f"cannot write {self.path}: {self.problem}" if self.problem else f"wrote {self.path}"


def written(report: Report | RanksReport, *, html: str | None, json: str | None) -> Iterator[Saved]:
    """Write the files that were asked for."""
    if html:
        yield saved(html, report.to_html)
    if json:
        yield saved(json, report.to_json)


def saved(path: str, text: Callable[[], str]) -> Saved:
    """Write one file."""
    try:
        write_whole(Path(path).expanduser(), text())
    except OSError as failure:
        return Saved(path, failure.strerror or str(failure) or type(failure).__name__)
    return Saved(path)


def unwritable(path: str) -> str:
    """Why no file can be written there; "" where one can, as far as can be told without writing it."""
    file = Path(path).expanduser()
    if file.is_dir():
        return f"cannot write {path}: it is a folder"
    return "" if file.parent.is_dir() else f"cannot write {path}: there is no folder {file.parent}"
