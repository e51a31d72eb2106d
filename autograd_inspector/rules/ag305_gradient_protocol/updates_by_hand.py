"""Parameters that the program updates itself, without an optimizer: `p -= lr * p.grad`."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.quoting import in_place
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import renewed
from autograd_inspector.analysis.updates_by_hand import Update, dropped_updates, updates
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Insert, WriteInto
from autograd_inspector.model.wording import agree, summarize_names


def misled_updates(analysis: Analysis) -> Iterator[Problem]:
    """What is wrong with updates of the program's own."""
    made = tuple(updates(analysis))
    yield from _without_effect(analysis, made)
    yield from _added_up(analysis, made)


def _without_effect(analysis: Analysis, made: tuple[Update, ...]) -> Iterator[Problem]:
    """Updates that went to a variable of the program (``p = p - lr * p.grad``), never to the parameter itself."""
    lost = dropped_updates(analysis, made)
    for site in dict.fromkeys(update.op.site for update in lost):
        mine = [update for update in lost if update.op.site == site]
        names = list(dict.fromkeys(name_of(analysis, update.parameter) for update in mine))
        place = analysis.capture.place(site)
        instead = (in_place(place.source) if place is not None else "") or "p -= lr * p.grad"
        yield Problem(
            "warning",
            f"the new values of {summarize_names(names)} were computed from the gradients and then dropped: assigning them to a "
            f"variable changes no parameter, so {summarize_names(names)} {agree(names, 'does', 'do')} not move",
            f"Update in place, under torch.no_grad(): `{instead}`{_and_cleared(analysis, mine)}.",
            analysis.user_frames(site, "new value computed and dropped here"),
            tuple(names),
            ops=(mine[0].op.index,),
            cures=() if place is None else ((_into_parameter(analysis, mine, place),),),
        )


def _into_parameter(analysis: Analysis, mine: list[Update], place: Location) -> WriteInto:
    recorded = analysis.capture.regions[mine[0].op.region].kind == "enabled"
    return WriteInto(place, recorded, "{}.grad = None" if _and_cleared(analysis, mine) else "")


def _and_cleared(analysis: Analysis, mine: list[Update]) -> str:
    """A parameter that is updated keeps its gradient: where nothing cleared it, the updates would add up."""
    following = ((u, next(analysis.timeline.backwards_to(u.parameter).since(u.op.index + 1), None)) for u in mine)
    left = any(
        run is not None and u.parameter in run.stale and not renewed(analysis, [u.parameter], u.op.index, run)
        for u, run in following
    )
    return "; then clear the gradient of each parameter before the next backward(): `p.grad = None`" if left else ""


def _added_up(analysis: Analysis, made: tuple[Update, ...]) -> Iterator[Problem]:
    """Gradients that nothing cleared after an update by hand: the next backward adds to them."""
    late: dict[int, dict[str, tuple[Update, Backward]]] = {}
    first: dict[tuple[int, int], int] = {}
    """(parameter, run) -> the line that updated it first before that; what else was done to it is no other fault."""
    for update in made:
        parameter = update.parameter
        run = next(analysis.timeline.backwards_to(parameter).since(update.op.index + 1), None) if update.kept else None
        if run is None or parameter not in run.stale or renewed(analysis, [parameter], update.op.index, run):
            continue
        if first.setdefault((parameter, run.index), update.op.site) == update.op.site:
            late.setdefault(update.op.site, {}).setdefault(name_of(analysis, parameter), (update, run))
    for site, late_updates in late.items():
        _, run = next(iter(late_updates.values()))
        which = (
            f"`{next(iter(late_updates))}.grad = None`"
            if len(late_updates) == 1
            else "`p.grad = None` for each parameter p"
        )
        yield Problem(
            "warning",
            f"{summarize_names(late_updates)} still had the .grad of the previous update, and nothing cleared it: gradients add up from iteration to iteration",
            f"Clear the gradient after each update: {which}.",
            analysis.places((run, "added to old gradients here"), (site, "updated here")),
            tuple(late_updates),
            ops=tuple(update.op.index for update, _ in late_updates.values()),
            cures=tuple(
                tuple(Insert(place, f"{name}.grad = None", "behind") for name in late_updates)
                for place in analysis.user_frames(site, "")[:1]
            ),
        )
