"""AG306 where a parameter is given the gradient that was computed for another one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.given_to_another import given_to_another
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import counted


def for_another(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that assigns such gradients."""
    for found in given_to_another(analysis):
        name, owner = name_of(analysis, found.write.tensor), name_of(analysis, found.owner)
        alike = f" ({counted(found.others, 'other parameter')} alike)" if found.others else ""
        yield Problem(
            "warning",
            f"{name} gets the gradient that `{found.call}` computed for {owner}{alike}, and the step uses it: their "
            "shapes agree, so no error is raised",
            "Assign each gradient to the parameter that it was computed for: "
            + (
                "give `torch.autograd.grad()` and `zip()` the same list."
                if found.call.startswith("torch.autograd")
                else "look each one up by its name, or give `zip()` both in the order of one dict."
            ),
            analysis.places(
                (found.write, f"assigned to {name} here"),
                (found.asked, f"computed for {owner} here"),
                (found.step, "step() uses it here"),
            ),
            (name, owner),
            ops=(found.asked.index,),
        )
