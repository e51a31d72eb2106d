"""AG204: a tensor that was given a second name instead of a copy, and modified in place."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.second_names import SecondName
from autograd_inspector.analysis.memory.second_names import second_names as found_names
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import NamedAgain
from autograd_inspector.model.remedy import NotInPlace, Operand, Remedies, Substitute


def second_names(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each statement that gave the name, or each line that overwrites an input."""
    for found in found_names(analysis):
        named = found.named
        yield _overwritten(analysis, found) if named is None else _named(analysis, found, named)


def _named(analysis: Analysis, found: SecondName, named: NamedAgain) -> Problem:
    kept, changed = found.kept, found.changed
    return Problem(
        "warning",
        f"{kept} and {changed} are two names for the same tensor, and `{found.op.name}` changes it in place: {kept} has "
        "the new values as well, and the old ones are gone",
        f"Keep a copy where the second name is assigned: `{named.name} = {named.of}.clone()`. Or compute a new tensor "
        f"instead of changing {changed} in place.",
        analysis.places(
            (named, "second name assigned here, without a copy"),
            (found.op, "changed in place here"),
            (found.reads[0], f"read as {kept} here"),
        ),
        (kept, changed),
        ops=(found.op.index,),
        cures=tuple(_cures(analysis, found, named)),
    )


def _cures(analysis: Analysis, found: SecondName, named: NamedAgain) -> Iterator[Remedies]:
    place = analysis.capture.place(named.site)
    if place is not None and named.alone:
        yield (Substitute(place, "", "{}.clone()"),)
    edited = analysis.capture.place(found.op.site)
    if edited is not None:
        yield (out_of_place(analysis, found.op, edited),)


def _overwritten(analysis: Analysis, found: SecondName) -> Problem:
    name, frames = found.kept, analysis.user_frames(found.op.site, "overwritten in this call")
    return Problem(
        "warning",
        f"{found.module}(inplace=True) overwrites its input {name}, and `{found.reads[0].name}` reads {name} afterwards: it "
        "gets the new values, not those that the module was called with",
        f"Call the module with a copy: `{name}.clone()`. Or make it with inplace=False: `nn.{found.module}()`.",
        (*analysis.user_frames(found.reads[0].site, f"{name} read here, after it was overwritten"), *frames),
        (name, found.module, "inplace"),
        ops=(found.op.index,),
        cures=(
            *((Operand(place, "argument", "{}.clone()"),) for place in (found.called,) if place is not None),
            *((NotInPlace(frame, found.module),) for frame in frames),
        ),
    )
