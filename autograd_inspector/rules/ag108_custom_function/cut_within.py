"""AG108: a backward that computes with what has no history, and is differentiated itself."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.within_backward import cuts_within, saved_intermediates
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import TakeOff


def cut_within(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    for found in cuts_within(analysis):
        name, call = name_of(analysis, found.cut.inputs[0]), f".{found.cut.name}" + "()" * (found.cut.name != "data")
        yield Problem(
            "warning",
            f"{found.function}.backward cuts {name} from the graph with {call}, and its result is differentiated again (create_graph=True): the second derivative treats {name} as a constant",
            f"Use the saved tensor itself in {found.function}.backward, or mark it with @once_differentiable if it needs no second derivative.",
            analysis.places(
                (found.cut, "cut inside backward here"),
                (found.run, "gradient with a graph computed here"),
                (found.again, "differentiated again here"),
            ),
            (found.function, name),
            ops=(found.cut.index,),
            cures=at_line(analysis, found.cut.site, TakeOff),
        )


def saved_within(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each Function."""
    for found in saved_intermediates(analysis):
        yield Problem(
            "warning",
            f"{found.function}.backward uses a result of `{found.made.name}` that forward saved, and its own result is differentiated "
            "again (create_graph=True): autograd records nothing in forward, so the second derivative treats it as a constant",
            f"Compute it again in {found.function}.backward, from the inputs that forward saved.",
            analysis.places(
                (found.made, "computed in forward here"),
                (found.read, "used in backward here"),
                (found.run, "gradient with a graph computed here"),
                (found.again, "differentiated again here"),
            ),
            (found.function,),
            ops=(found.read.index,),
        )
