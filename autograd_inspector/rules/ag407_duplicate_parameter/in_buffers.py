"""AG407 where a buffer lies in the memory of a parameter, and is given values of its own."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.memory.buffers import BufferInParameter, buffers_in_parameters
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Operand
from autograd_inspector.model.wording import agree, summarize_names


def buffers_on_parameters(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that made such buffers."""
    for each in grouped(buffers_in_parameters(analysis), lambda found: line_of(analysis, found.taken.site)).values():
        yield _problem(analysis, each)


def _problem(analysis: Analysis, found: list[BufferInParameter]) -> Problem:
    first = found[0]
    buffers = names_of(analysis, [each.buffer for each in found])
    parameters = names_of(analysis, [each.parameter for each in found])
    return Problem(
        "warning",
        f"the {agree(buffers, 'buffer', 'buffers')} {summarize_names(buffers)} and the {agree(parameters, 'parameter', 'parameters')} "
        f"{summarize_names(parameters)} share memory: `{first.edit.name}` on the buffer overwrites the parameter, and step() "
        "changes the buffer",
        "Give the buffer a copy: `self.register_buffer(name, self.weight.detach().clone())`. `.data` and `detach()` return the "
        "same memory.",
        analysis.places(
            (first.taken, "memory shared here"), (first.edit, "written here"), (first.step, "parameter stepped here")
        ),
        (*buffers, *parameters),
        ops=(first.edit.index,),
        cures=at_line(analysis, first.taken.site, lambda place: Operand(place, "whole", "{}.clone()")),
    )
