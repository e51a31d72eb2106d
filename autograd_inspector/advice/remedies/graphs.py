"""Graphs of earlier rounds: cut off, computed again, or kept for the backward that needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Again, Insert, Remedies, SetArgument, Substitute


def computed_again(analysis: Analysis, made: Op | None, reader: Op) -> Iterator[Remedies]:
    """What was kept is made in each round, where it is read."""
    pair = meeting(analysis, made.site, reader.site) if made is not None else None
    if pair is not None:
        yield (Again(*pair),)


def cut_off(
    analysis: Analysis, name: str, reader: Op, tensor: int, made: Op | None, freed_by: Backward
) -> Iterator[Remedies]:
    """What is carried into the next round loses its history at the end of the round, or else where it is read."""
    several = made is not None and sum(t in reader.inputs for t in made.outputs) > 1
    place, end = analysis.capture.place(reader.site), analysis.capture.place(freed_by.site)
    if not assignable(name, analysis, tensor) or place is None:
        return
    detached = f"tuple(t.detach() for t in {name})" if several else f"{name}.detach()"
    if end is not None and (place.filename, place.function) == (end.filename, end.function):
        yield (Insert(end, f"{name} = {detached}", "behind"),)
    yield (Substitute(place, name, f"(None if {{}} is None else {detached})"),)


def retained(analysis: Analysis, run: Backward) -> Iterator[Remedies]:
    """The graph is kept for a later backward."""
    place = analysis.capture.place(run.site)
    if place is not None:
        yield (SetArgument(place, "retain_graph", "True"),)


def added_without_graph(analysis: Analysis, site: int, added: Iterable[str]) -> Iterator[Remedies]:
    """Values without their history are added up, or kept; of what has no name, all that the statement computes."""
    place, names = analysis.capture.place(site), list(dict.fromkeys(added))
    if place is None:
        return
    if names:
        yield tuple(Substitute(place, name, "{}.detach()") for name in names)
    yield (Substitute(place, "", "{}.detach()"),)
