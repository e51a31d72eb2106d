"""AG416 where one line updates some averages several times a round."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.uneven_averages import uneven_averages
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import WrittenInLoop
from autograd_inspector.model.wording import counted


def uneven(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that updates averages."""
    loops = analysis.capture.events_of(WrittenInLoop)
    for found in uneven_averages(analysis):
        average, parameter, once = (
            name_of(analysis, tensor) for tensor in (found.update.average, found.update.parameter, found.once.average)
        )
        alike = f", and {counted(found.others, 'other average')} more than once" if found.others else ""
        yield Problem(
            "warning",
            f"{average} is updated {counted(found.times, 'time')} with {parameter} in each iteration{alike}; {once} is updated "
            f"{counted(found.fewest, 'time')}: the averages follow their parameters at different rates",
            "Update each average once in an iteration: loop over the parameters of the whole model, or ask each module for its own parameters only: "
            "`module.parameters(recurse=False)`.",
            analysis.places(
                (found.update.op, f"{average} updated here"),
                (
                    next((loop for loop in loops if loop.made == found.update.op.site), None),
                    "loop over what is updated",
                ),
            ),
            (average, parameter, once),
            ops=(found.update.op.index,),
        )
