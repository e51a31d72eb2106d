"""AG407 where a parameter is there twice as far as its memory goes: two parameters on the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.memory.one_memory import OneMemory, Shared
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import ModelLoaded
from autograd_inspector.model.remedy import Operand, Remedies, SetArgument, Substitute
from autograd_inspector.model.rewrites import Share
from autograd_inspector.model.wording import summarize_names

_LINEAR = frozenset({"SGD"})
"""Two of its steps on one memory add up to the step with the sum of the gradients, as one shared parameter has it."""


def on_one_memory(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that put parameters onto the memory of others, both of which are then written."""
    memory = OneMemory(analysis.capture)
    by_line: dict[object, list[Shared]] = {}
    for pair in memory.pairs():
        if memory.written_by_both(pair) or memory.moves_frozen_rows(pair) or memory.taken_in_again(pair):
            site = _site(analysis, pair)
            by_line.setdefault(line_of(analysis, site) if site >= 0 else None, []).append(pair)
    for pairs in by_line.values():
        joined = [name_of(analysis, pair.joined) for pair in pairs]
        owners = [name_of(analysis, pair.owner) for pair in pairs]
        yield Problem(
            "info" if all(_adds_up(analysis, pair) for pair in pairs) else "warning",
            f"{summarize_names(joined)} and {summarize_names(owners)} are different parameters that share memory: updating one "
            "also modifies the other",
            "To keep them separate, copy the values: `.clone()`, or `copy_()` into other memory. To share them, use "
            "one Parameter in both places, with its transpose or view in forward, and list it once in the optimizer.",
            (*_places(analysis, pairs[0]), *_updates(analysis, memory, pairs[0])),
            (*joined, *owners),
            cures=tuple(_cures(analysis, memory, pairs)),
        )


def _cures(analysis: Analysis, memory: OneMemory, pairs: list[Shared]) -> Iterator[Remedies]:
    """One parameter where both learn by their gradients, which is what a tie is for; else a copy of the values."""
    site = _site(analysis, pairs[0])
    places = analysis.user_frames(site, "")[:1] if site >= 0 else ()
    if all(memory.learn_both(pair) and not memory.taken_in_again(pair) for pair in pairs):
        yield from ((Share(place),) for place in places)
        return
    if any(event.site == site for event in analysis.capture.events_of(ModelLoaded)):
        yield from ((SetArgument(place, "load_state_dict", "assign", ""),) for place in places)
    elif pairs[0].assigned is not None:
        yield from ((Substitute(place, "", "{}.clone()"),) for place in places)
    else:
        yield from ((Operand(place, "argument", "{}.detach().clone()"),) for place in places)


def _site(analysis: Analysis, pair: Shared) -> int:
    """Where the one got the memory of the other; -1: before the capture."""
    if pair.assigned is not None:
        return pair.assigned.site
    loads = (e for e in analysis.capture.events_of(ModelLoaded) if e.assign and pair.joined in e.tensors)
    return next((e.site for e in loads), next(iter(analysis.lifecycle.made_at(pair.joined)), -1))


def _places(analysis: Analysis, pair: Shared) -> tuple[Location, ...]:
    site = _site(analysis, pair)
    return analysis.user_frames(site, "memory shared here") if site >= 0 else ()


def _updates(analysis: Analysis, memory: OneMemory, pair: Shared) -> Iterator[Location]:
    for site in memory.update_sites(pair):
        yield from analysis.user_frames(site, "written here")


def _adds_up(analysis: Analysis, pair: Shared) -> bool:
    """Whether one linear optimizer steps both."""
    return any(
        optimizer.type in _LINEAR and {pair.owner, pair.joined} <= set(optimizer.held)
        for optimizer in analysis.capture.placement.optimizers
    )
