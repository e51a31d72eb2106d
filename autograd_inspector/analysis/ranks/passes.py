"""The order in which a rank calls its wrappers and runs backward through them: where ranks part, one waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter

from autograd_inspector.analysis.ranks.beginnings import Places
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import WrapperCalled
from autograd_inspector.model.rank_summary import Done, RankSummary

_MOST = 512
"""Passes whose order is compared."""
_ROLES = {
    "forward": "forward called here",
    "backward": "backward() called here",
    "around": "called without {} here",
}


def passes_of(capture: Capture, reductions: Reductions, places: Places) -> tuple[tuple[Done, ...], tuple[int, ...]]:
    """(the lines, which of them came one after the other); nothing where older steps are folded away.

    A line's ``value`` tells what it does: a "forward" that exchanges something, a "backward" that reduces, or a forward
    "around" the wrapper, whose backward reduces nothing.
    """
    if capture.history.folded:
        return (), ()
    lines: dict[tuple[str, str, int], int] = {}
    passes = sorted((*_forwards(capture), *_backwards(capture, reductions)), key=itemgetter(0))[:_MOST]
    order = tuple(lines.setdefault(line, len(lines)) for _, line in passes)
    return (
        tuple(Done(kind, places(site, _ROLES[what].format(kind)), value=what) for kind, what, site in lines),
        order,
    )


def _forwards(capture: Capture) -> Iterator[tuple[float, tuple[str, str, int]]]:
    for call in capture.events_of(WrapperCalled):
        if call.nth:
            yield call.at, (call.type, "forward", call.site)


def _backwards(capture: Capture, reductions: Reductions) -> Iterator[tuple[float, tuple[str, str, int]]]:
    spent = set[WrapperCalled]()
    for run in capture.backwards if reductions.wrappers else ():
        for wrapper in reductions.wrappers.values():
            tensor = next((t for t in run.reached if reductions.wrapper_of.get(t) is wrapper), None)
            if tensor is None or run.api != "backward":
                continue
            call = reductions.wrapper_calls.call_of(wrapper, tensor, run)
            if call is None:
                used = reductions.wrapper_calls.used_by(tensor, run)
                yield run.start - 0.5, (wrapper.type, "around", run.site if used is None else used.site)
            elif call.synced and call not in spent:
                spent.add(call)
                yield run.start + 0.5, (wrapper.type, "backward", run.site)


def parting(ranks: Mapping[int, RankSummary]) -> dict[int, Done | None]:
    """Rank -> the first pass that some other rank does not make at its place; None: it makes no more."""
    longest = max(len(summary.passes) for summary in ranks.values())
    for at in range(longest if all(summary.passes for summary in ranks.values()) else 0):
        here = {rank: _pass(summary, at) for rank, summary in ranks.items()}
        if len({done and (done.api, done.value) for done in here.values()}) > 1:
            return here
    return {}


def _pass(summary: RankSummary, at: int) -> Done | None:
    return summary.pass_lines[summary.passes[at]] if at < len(summary.passes) else None
