"""How an optimizer comes to hold the parameters that are trained."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from autograd_inspector.advice.optimizer_snippets import collected, group_added, model_of, remade, state_moved, stepper
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.meeting import meeting_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.modules.parameter_origins import birthplace
from autograd_inspector.analysis.optimizers.held_copies import holds_copies
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow
from autograd_inspector.model.program_events import SchedulerMade
from autograd_inspector.model.remedy import Again, Insert, Move, Operand, Remedies, SetArgument
from autograd_inspector.model.rewrites import IntoParameter, NotCopied


def made_afterwards(
    analysis: Analysis, optimizer: OptimizerRecord, replaced: Iterable[Location], parameters: tuple[int, ...]
) -> Iterator[Remedies]:
    """An optimizer that is made once the parameters are what they stay."""
    frames = list(replaced)
    if frames:
        yield (SetArgument(frames[0], "load_state_dict", "assign", ""),)
    pair = meeting_of(frames, analysis.capture.site(optimizer.site))
    again = remade(analysis, optimizer, parameters)
    schedules = _schedules(analysis, optimizer, frames)
    if pair is not None and again:
        yield Insert(pair[0], again, "behind", once=True), *schedules
    if pair is not None and _gives_it(analysis, optimizer, pair[1]):
        yield (Move(pair[1], pair[0]),)
        yield Again(pair[1], pair[0], "behind", once=True), *schedules
    first = next((reader for t in parameters if (reader := analysis.lifecycle.first_reader(t)) is not None), None)
    if not frames and again and first is not None:
        stepped = [
            called_on(analysis.capture.place(step.site), "step")
            for step in analysis.capture.steps
            if step.optimizer == optimizer.id
        ]
        made = remade(analysis, optimizer, parameters, next(filter(None, stepped), ""))
        yield from at_line(analysis, first.site, lambda place: Insert(place, made))


def _gives_it(analysis: Analysis, optimizer: OptimizerRecord, place: Location) -> bool:
    """Whether a statement makes the optimizer, or gets it from a call: another call that makes one does more.

    Nor may it make what the optimizer holds as well: run again, it would make another model.
    """
    own = analysis.capture.place(optimizer.site)
    sites = {site for tensor in optimizer.held for site in analysis.lifecycle.made_at(tensor)[:1]}
    if any(frame.line == place.line for site in sites for frame in analysis.capture.site(site)):
        return False
    return bool(place.assigned or place.target) or (own is not None and place.line == own.line)


def _schedules(analysis: Analysis, optimizer: OptimizerRecord, replaced: list[Location]) -> tuple[Again, ...]:
    """What was made for the optimizer before the replacement is made again behind it, for the new optimizer."""
    made = (event for event in analysis.capture.events_of(SchedulerMade) if event.optimizer == optimizer.id)
    pairs = (meeting_of(analysis.capture.site(event.site), replaced) for event in made)
    return tuple(
        Again(*pair, "behind", once=True) for pair in pairs if pair is not None and pair[0].lineno < pair[1].lineno
    )


def written_into(
    analysis: Analysis, optimizer: OptimizerRecord, held: Iterable[int], replacements: tuple[int, ...]
) -> Iterator[Remedies]:
    """What took the place of parameters of the same shapes is copied into those that the optimizer holds."""
    tensors = analysis.capture.tensors
    if Counter(tensors[t].shape for t in held) != Counter(tensors[t].shape for t in replacements):
        return
    made = [next(iter(birthplace(analysis, t, optimizer, "")), None) for t in replacements]
    if made and None not in made:
        yield tuple(IntoParameter(place) for place in dict.fromkeys(made) if place is not None)


def added_to(
    analysis: Analysis, optimizer: OptimizerRecord, made: Iterable[Location], parameters: tuple[int, ...]
) -> Iterator[Remedies]:
    """A further group for parameters that it does not hold, once both are there; the model itself for a copy of it."""
    if holds_copies(analysis, optimizer, parameters) and (place := analysis.capture.place(optimizer.site)) is not None:
        yield (NotCopied(place),)
    group = group_added(analysis, optimizer, parameters)
    pair = meeting_of(made, analysis.capture.site(optimizer.site))
    if group and pair is not None:
        later = max(pair, key=lambda place: place.lineno)
        yield (Insert(later, group, "behind", once=True),)
    elif group and (place := analysis.capture.place(optimizer.site)) is not None:
        yield (Insert(place, group, "behind"),)
    if pair is not None and pair[0].lineno > pair[1].lineno and _gives_it(analysis, optimizer, pair[1]):
        yield (Move(pair[1], pair[0]),)
        yield (Again(pair[1], pair[0], "behind", once=True),)
    yield from given_instead(analysis, optimizer, (*optimizer.held, *parameters))


def made_later(
    analysis: Analysis, optimizer: OptimizerRecord, born: Iterable[Location], parameters: tuple[int, ...]
) -> Iterator[Remedies]:
    """The optimizer is made, or made again, where all of the parameters are there and require grad."""
    site = analysis.capture.site(optimizer.site)
    thawed = analysis.lifecycle.unfrozen(parameters, since=max(optimizer.created_at, 0))
    arrivals = [born, *(analysis.capture.site(each) for each in dict.fromkeys(change.site for change in thawed))]
    pairs = [pair for frames in arrivals if (pair := meeting_of(frames, site)) is not None]
    if pairs and len({made for _, made in pairs}) == 1:
        last, made = max(pairs, key=lambda pair: pair[0].lineno)
        if last.lineno > made.lineno and _gives_it(analysis, optimizer, made):
            yield (Move(made, last),)
            yield (Again(made, last, "behind", once=True),)


def made_again(analysis: Analysis, site: int, after: int) -> Iterator[Remedies]:
    """What was made for one optimizer is made again for the one that takes over."""
    pair = meeting_of(analysis.capture.site(site), analysis.capture.site(after))
    if pair is not None:
        yield (Again(*pair, "behind"),)


def given_instead(analysis: Analysis, optimizer: OptimizerRecord, parameters: tuple[int, ...]) -> Iterator[Remedies]:
    """The parameters that its loss trains, in place of those that it was given."""
    model, place = model_of(analysis, parameters), analysis.capture.place(optimizer.site)
    if place is not None:
        yield (NotCopied(place),)
    there = not any(analysis.lifecycle.began_after(tensor, optimizer) for tensor in parameters)
    if there and model and len(optimizer.groups) == 1 and place is not None:
        yield (Operand(place, "first", f"{model}.parameters()"),)


def state_brought(
    analysis: Analysis, optimizer: OptimizerRecord, rows: Iterable[ParameterRow], left_behind: Iterable[Location]
) -> Iterator[Remedies]:
    """State that follows its parameters, right after what left it behind."""
    entries, name = [(row, entry) for row in rows for entry in row.state], stepper(analysis, optimizer)
    text = state_moved(analysis, optimizer, [row for row, _ in entries])
    if text and all(entry.device == row.device for row, entry in entries):
        text = f"{name}.load_state_dict({name}.state_dict())"
    if text:
        yield from ((Insert(place, text, "behind"),) for place in left_behind if not place.library)


_SUBMODULE = re.compile(r'\.get_submodule\("([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"\)')


def required(analysis: Analysis, parameters: Collection[int], *, grad: bool) -> Iterator[Remedies]:
    """A part of a model that an optimizer holds is frozen before that is made, or (``grad``) requires grad."""
    held = analysis.capture.placement.holding(parameters)
    collection, _ = collected(analysis, parameters)
    whole = _SUBMODULE.sub(lambda found: f".{found[1]}", collection.removesuffix(".parameters()"))
    if not held or not collection:
        return
    one_by_one = not collection.endswith(".parameters()")
    text = f"for p in {collection}:\n    p.requires_grad_({grad})" if one_by_one else f"{whole}.requires_grad_({grad})"
    yield from at_line(analysis, held[0].site, lambda place: Insert(place, text))
