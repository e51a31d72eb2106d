"""What each rank did that concerns the others, in its order: one lane for all ranks that did the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, islice

from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import WrapperCalled
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import Lane

_MOST = 240
"""Entries of one lane; the first are kept, for ranks part once."""


def lane_of(capture: Capture, reductions: Reductions) -> tuple[tuple[str, int], ...]:
    """Exchanges, forwards of wrappers, backwards and steps: each with its line, and how often in a row."""
    alike = ((text, sum(1 for _ in group)) for text, group in groupby(_marks(capture, reductions)))
    return tuple(islice(alike, _MOST))


def _marks(capture: Capture, reductions: Reductions) -> Iterator[str]:
    moments = [(event.at, 0, event.name, event.site) for event in reductions.exchanges.calls if not event.failed]
    moments += [
        (call.at, 1, call.type if call.synced else f"{call.type}, unsynced", call.site)
        for call in capture.events_of(WrapperCalled)
    ]
    runs = [run for run in capture.backwards if run.api == "backward" and run.nested_in < 0]
    moments += [(run.start, 2, "backward", run.site) for run in runs]
    types = {optimizer.id: optimizer.type for optimizer in capture.placement.optimizers}
    moments += [(step.at, 3, f"{types.get(step.optimizer, '')}.step", step.site) for step in capture.steps]
    for _, _, name, site in sorted(moments, key=lambda moment: moment[:2]):
        yield name + _line(capture.place(site))


def lanes_of(ranks: Mapping[int, RankSummary | None]) -> tuple[Lane, ...]:
    """The lanes of some ranks; None stands for one that reported nothing."""
    lanes: dict[tuple[tuple[tuple[str, int], ...], str], list[int]] = {}
    for rank, summary in ranks.items():
        lanes.setdefault((summary.lane if summary is not None else (), _ending(summary)), []).append(rank)
    return tuple(Lane(tuple(having), marks, ending) for (marks, ending), having in lanes.items())


def _ending(summary: RankSummary | None) -> str:
    if summary is None:
        return "no report"
    done = summary.stood or summary.waited
    if done is not None:
        return f"{'stands still' if done is summary.stood and not done.value else 'waits'} in {_text(done)}"
    return "raised" if summary.raised else ""


def _text(done: Done) -> str:
    return done.api + _line(next(iter(done.places), None))


def _line(place: Location | None) -> str:
    if place is None:
        return ""
    name = place.cell or place.filename.replace("\\", "/").rpartition("/")[2]
    return f" {name}:{place.lineno}"
