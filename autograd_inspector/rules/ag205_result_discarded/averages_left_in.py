"""AG205 where a running average replaces the parameters for an evaluation, and their own values are lost."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.memory.averages_left_in import AverageLeftIn, averages_left_in
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, with_role
from autograd_inspector.model.op import Op
from autograd_inspector.model.wording import agree, summarize_names


def left_in(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each evaluation."""
    yield from (
        _problem(analysis, each)
        for each in grouped(averages_left_in(analysis), lambda found: found.evaluated.id).values()
    )


def _problem(analysis: Analysis, all_found: list[AverageLeftIn]) -> Problem:
    found = all_found[0]
    names = names_of(analysis, dict.fromkeys(each.tensor for each in all_found))
    its = agree(names, "its", "their")
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'gets the value of a running average', 'get the values of running averages')} for an "
        f"evaluation, and nothing writes {its} own {agree(names, 'value', 'values')} back: training continues from the "
        f"{agree(names, 'average', 'averages')}",
        f"Copy {its} own {agree(names, 'value', 'values')} before the evaluation, and copy {agree(names, 'it', 'them')} back after it. Or "
        "evaluate a copy of the model that holds the averages.",
        (
            *_called(analysis, found.written, found.evaluated.site),
            *analysis.places(
                (found.written, "average written here, and not restored"),
                (found.updated, "average updated here"),
                (analysis.capture.ops[found.step], "step() continues from there"),
            ),
        ),
        tuple(names),
        ops=(found.written.index,),
    )


def _called(analysis: Analysis, written: Op, evaluation: int) -> tuple[Location, ...]:
    """The line of the function that evaluates which calls what writes the averages; none where it does so itself."""
    scopes = {frame.scope for frame in analysis.capture.site(evaluation)}
    frames = [frame for frame in analysis.capture.site(written.site) if not frame.library]
    shared = next((at for at, frame in enumerate(frames) if frame.scope in scopes), 0)
    return (with_role(frames[shared], "average put in for the evaluation here"),) if shared else ()
