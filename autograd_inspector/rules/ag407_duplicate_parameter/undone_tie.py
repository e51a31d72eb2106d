"""AG407 where a parameter is there once too often: two of what was one, since a tie was undone."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.modules.undone_ties import (
    PartedTie,
    SetApart,
    UndoneTie,
    parted_ties,
    set_apart,
    undone_ties,
)
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Insert, Remedies


def no_longer_tied(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each module that was replaced, or loaded."""
    for found in undone_ties(analysis):
        yield _problem(analysis, found)
    for parted in parted_ties(analysis):
        yield _parted(analysis, parted)
    for apart in set_apart(analysis):
        yield _apart(analysis, apart)


def _apart(analysis: Analysis, found: SetApart) -> Problem:
    one, other = name_of(analysis, found.one), name_of(analysis, found.other)
    return Problem(
        "warning",
        f"{one} and {other} were one tied parameter, and each name got a new Parameter with a copy of the same values: they "
        "are two parameters now, which are trained separately",
        "Write the values into the parameter that is there, under torch.no_grad(), as in `p.copy_(value)`: this keeps the tie. "
        "Or tie them again afterwards.",
        analysis.places((found.event, "new Parameter set here"), (found.tied, "tied here, before")),
        (one, other),
    )


def _parted(analysis: Analysis, found: PartedTie) -> Problem:
    one, other = name_of(analysis, found.one[1]), name_of(analysis, found.other[1])
    place = analysis.capture.place(found.event.site)
    module = called_on(place, "load_state_dict")
    again = f"{module or 'model'}.{found.other[0]} = {module or 'model'}.{found.one[0]}"
    return Problem(
        "warning",
        f"{one} and {other} were one tied parameter, and {found.event.type}.load_state_dict(assign=True) made them two: "
        "each name got another tensor as its parameter, and the two are trained separately",
        f"Tie them again after loading: `{again}`. Or load without assign=True, which copies the values and keeps the tie.",
        analysis.user_frames(found.event.site, "tie undone here"),
        (one, other),
        cures=((Insert(place, again, "behind"),),) if place is not None and module else (),
    )


def _problem(analysis: Analysis, found: UndoneTie) -> Problem:
    old, new = name_of(analysis, found.old), name_of(analysis, found.new)
    module = f"`{found.event.name}`"
    if found.both:
        text = (
            f"{old} and {new} were one Parameter, tied, before their modules were replaced: the new ones have the same "
            "values and are two parameters, which are trained separately"
        )
        fix = f"Tie them again after {module} is replaced: assign the one Parameter to both modules."
    else:
        text = (
            f"{old} was tied to the weight of {module}, and {module} was replaced afterwards: {old} is still the old weight, "
            f"{new} is another parameter, and the two are trained separately"
        )
        fix = (
            f"Tie them again after {module} is replaced, or copy the new values into the old weight and keep the module. If "
            f"they are meant to differ, give {old} a new parameter."
        )
    return Problem(
        "warning",
        text,
        fix,
        analysis.places((found.event, "replaced here"), (found.tied, "tied here, before")),
        (old, new),
        cures=tuple(_tied_again(analysis, found, old, new)),
    )


def _tied_again(analysis: Analysis, found: UndoneTie, old: str, new: str) -> Iterator[Remedies]:
    """The follower gets the new weight, by the way that the line which replaced the module has to their owner."""
    place = analysis.capture.place(found.event.site)
    owner, module, weight = new.rpartition(f"{found.event.name}.")
    if place is None or not module or not old.startswith(owner) or not is_path(old):
        return
    home, replaced, rest = place.assigned.rpartition(found.event.name)
    if replaced and not rest and is_path(place.assigned):
        yield (Insert(place, f"{home}{old.removeprefix(owner)} = {place.assigned}.{weight}", "behind"),)
