"""Reports that ranks wrote into files, as one: also when some of the ranks died and left none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from autograd_inspector.api.merging import MOST_RANKS
from autograd_inspector.api.rank_parts import RankPart, part_of
from autograd_inspector.api.ranks import RanksReport, ranks_report, with_reports
from autograd_inspector.api.report import Report
from autograd_inspector.views.display_text import shown

_RANK = re.compile(r"rank[^0-9a-z]{0,2}(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


class Merged(Struct, frozen=True):
    """One report, None where no file could be read; ``problems`` has one line for each file that was left out."""

    report: RanksReport | None
    problems: tuple[str, ...] = ()


def merge_files(paths: Iterable[Path]) -> Merged:
    """The reports in some files as one; files that cannot be read are told and left out.

    A report's rank is what it says itself; else the number in its file's name (``rank3.json``, ``out-3.json``); else
    its place among the files. Ranks up to the world size that a report knows are missing where no file is theirs.
    """
    read: dict[Path, Report] = {}
    problems = []
    for path in dict.fromkeys(paths):
        try:
            read[path] = Report.from_json(path.read_bytes())
        except (OSError, ValueError) as error:
            problems.append(f"{shown(str(path))}: {getattr(error, 'strerror', None) or shown(str(error))}")
    path_of_rank: dict[int, Path] = {}
    for path, report in read.items():
        rank = report.capture.rank
        if rank >= 0 and path_of_rank.setdefault(rank, path) != path:
            problems.append(f"{shown(str(path))}: rank {rank} again, which {shown(str(path_of_rank[rank]))} is")
    _number([path for path, report in read.items() if report.capture.rank < 0], path_of_rank)
    if not path_of_rank:
        return Merged(None, tuple(problems))
    sizes = {report.capture.world_size for report in read.values() if 0 < report.capture.world_size <= MOST_RANKS}
    expected = {*path_of_rank, *range(max(sizes, default=0))}
    parts: Mapping[int, RankPart | None] = {
        rank: part_of(read[path_of_rank[rank]]) if rank in path_of_rank else None for rank in sorted(expected)
    }
    notes = [f"reports of process groups of different sizes: {', '.join(map(str, sorted(sizes)))}"]
    merged = ranks_report(parts, tuple(notes) if len(sizes) > 1 else ())
    return Merged(with_reports(merged, {rank: read[path_of_rank[rank]] for rank in path_of_rank}), tuple(problems))


def _number(paths: list[Path], path_of_rank: dict[int, Path]) -> None:
    """Give each file that does not say its rank the one of its name, else the first that is free."""
    unnamed = []
    for path in paths:
        rank = _rank_in(path.stem)
        if rank < 0 or path_of_rank.setdefault(rank, path) != path:
            unnamed.append(path)
    for path in unnamed:
        path_of_rank[next(rank for rank in range(len(path_of_rank) + 1) if rank not in path_of_rank)] = path


def _rank_in(stem: str) -> int:
    """3 of ``rank3``, ``rank_03`` and ``step100-3``; -1 where there is no number."""
    numbers = [int(text) for text in _RANK.findall(stem) or _NUMBER.findall(stem) if len(text) < len(str(MOST_RANKS))]
    return numbers[-1] if numbers else -1
