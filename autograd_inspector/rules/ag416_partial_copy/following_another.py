"""AG416 where an average follows another parameter than the one that it began as a copy of."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.other_averages import other_averages
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import WrittenInLoop
from autograd_inspector.model.wording import counted


def following_another(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that updates averages."""
    loops = analysis.capture.events_of(WrittenInLoop)
    for found in other_averages(analysis):
        average, copied, followed = (name_of(analysis, t) for t in (found.average, found.copied, found.followed))
        alike = f" ({counted(found.others, 'other tensor')} alike)" if found.others else ""
        yield Problem(
            "warning",
            f"{average} began as a copy of {copied}, and the update mixes it with {followed}{alike}: parameters that do not "
            "belong together are averaged, and no error is raised where their shapes agree",
            f"Update {average} with {copied}: give `zip()` the parameters of the module that was copied, in their order, or "
            "look each of them up by its name.",
            analysis.places(
                (found.updated, f"mixed with {followed} here"),
                (next((loop for loop in loops if loop.made == found.updated.site), None), "parameters paired here"),
                (found.began, f"copied from {copied} here"),
            ),
            (average, followed, copied),
            ops=(found.updated.index,),
        )
