"""Weights that differ for a while only: moved by each rank for itself, and put back before the step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autograd_inspector.model.rank_summary import RankSummary


def rejoined(ranks: Mapping[int, RankSummary], keys: Iterable[str], start: int) -> bool:
    """Whether the next step behind a moment leaves these weights equal on all ranks that hold them."""
    left = set(keys)
    for at in range(start, min(len(summary.moments) for summary in ranks.values())):
        here = {rank: summary.moments[at] for rank, summary in ranks.items()}
        if any(ranks[rank].moment_lines[moment.line].api != "stepped" for rank, moment in here.items()):
            continue
        met: dict[str, set[int]] = {}
        for moment in here.values():
            for key, digest in moment.digests.items():
                met.setdefault(key, set()).add(digest)
        # Several optimizers step one after the other: each tells of its own.
        if any(len(met[key]) > 1 for key in left & met.keys()):
            return False
        left -= met.keys()
        if not left:
            return True
    return False
