"""Gradients that Functions sum over the ranks in backward, each with the line of the forward that made it so."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.ranks.beginnings import Places
from autograd_inspector.analysis.ranks.losses import divides_by_ranks
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated
from autograd_inspector.model.rank_summary import Done

_MOST = 64
"""Sums that are compared."""


def summed_back(capture: Capture, reductions: Reductions, places: Places) -> Iterator[Done]:
    """One for each forward line that sums, too: what it sums is the same on all ranks behind it, and so is its gradient.

    Nothing where gradients of parameters are reduced: what is summed once too often is divided there, perhaps.
    """
    calls = [call for call in reductions.exchanges.calls if call.inside and call.op == "sum" and call.tensors]
    if (
        reductions.meant
        or reductions.wrappers
        or capture.history.folded
        or not any(c.digest is not None for c in calls)
    ):
        return
    lines: dict[int, list[tuple[int, int]]] = {}
    open_sums: list[tuple[Op, Communicated]] = []
    for call in calls:
        op = capture.ops[call.at]
        if not op.has(Trait.BACKWARD):
            open_sums.append((op, call))
            continue
        # The engine goes back through the forward: the last sum of that size comes first.
        size = sum(map(reductions.exchanges.elements, call.tensors))
        pairs = (
            pair for pair in reversed(open_sums) if sum(map(reductions.exchanges.elements, pair[1].tensors)) == size
        )
        pair = next(pairs, None)
        if pair is None or size == 1:
            continue
        open_sums.remove(pair)
        if call.digest is not None and pair[1].digest is not None and not _divided(capture, call):
            lines.setdefault(pair[1].site, []).append((pair[1].digest, call.digest))
    for site, digests in lines.items():
        role = "summed over the ranks here, and its gradient, too"
        there, back = zip(*digests[:_MOST], strict=True)
        value = f"{'|'.join(map(str, there))}:{'|'.join(map(str, back))}"
        yield Done("all_reduce", places(site, role), len(digests), (), value)


def _divided(capture: Capture, call: Communicated) -> bool:
    """Whether a backward divides what it has summed by the number of ranks."""
    ops = (op for op in capture.ops[call.at + 1 : call.at + 8] if op.has(Trait.BACKWARD))
    return any(divides_by_ranks(capture, op) for op in ops)
