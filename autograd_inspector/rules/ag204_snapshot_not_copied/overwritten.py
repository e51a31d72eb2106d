"""AG204: an entry of a pool that is taken without a copy, and overwritten before it is read."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.overwritten_slots import overwritten_slots
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Operand


def overwritten(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that takes such entries."""
    for found in overwritten_slots(analysis):
        name = name_of(analysis, found.pool)
        yield Problem(
            "warning",
            f"an entry of {name} was taken without a copy, and an assignment overwrites it before anything reads it: "
            f"`{found.read.name}` gets the new value, and the old one is lost",
            "Copy the entry where it is taken: `.clone()`. An index returns a view, which shows whatever is assigned later.",
            analysis.places(
                (found.taken, "taken without a copy here"),
                (found.overwritten, "overwritten here"),
                (found.read, "read here"),
                (found.stored, "old value stored here"),
            ),
            (name,),
            ops=(found.overwritten.index,),
            cures=at_line(analysis, found.taken.site, lambda place: Operand(place, "whole", "{}.clone()")),
        )
