"""AG301 where one module of a list is called in place of all: a function made in a loop finds the loop's last one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.standing_in import StandingIn, standing_in
from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import BindNow
from autograd_inspector.model.wording import agree, summarize_names

_NESTED = "<locals>"
"""In the qualified name, right before the name of a function that was defined inside of another one."""


def one_for_all(analysis: Analysis, never: list[int]) -> Iterator[Across]:
    """(the finding, the parameters that it is about), where the call stands in a function made by another one."""
    for found in standing_in(analysis.capture, never):
        here = _called_by(analysis, found)
        if here is not None:
            yield _problem(analysis, found, here), found.tensors


def _called_by(analysis: Analysis, found: StandingIn) -> Location | None:
    """The line of a nested function that calls the module, within the outermost module: the innermost such line."""
    calls, outer = analysis.capture.calls, found.call
    while outer.parent >= 0 and outer.site < 0:
        outer = calls[outer.parent]
    outside = {frame.line for frame in analysis.user_frames(outer.site, "")}
    for op in analysis.capture.ops[found.call.at : found.call.at + 1]:
        for frame in analysis.user_frames(op.site, "called here, each time"):
            if frame.function.rpartition(".")[0].endswith(_NESTED) and frame.line not in outside:
                return frame
    return None


def _problem(analysis: Analysis, found: StandingIn, here: Location) -> Problem:
    names = [name_of(analysis, tensor) for tensor in found.tensors]
    holders = analysis.capture.placement.holding(found.tensors)
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} in an optimizer but got no gradient: {found.call.path} is called "
        f"{found.times} times in each forward, the other modules of its list never: the functions that call them look up "
        "the module when they run, and find the last one",
        "Bind the module when the function is made: `lambda h, layer=layer: layer(h)`.",
        (here, *analysis.places(*((holder, "given to the optimizer here") for holder in holders))),
        (*names, found.call.path),
        cures=((BindNow(here, ()),),),
    )
