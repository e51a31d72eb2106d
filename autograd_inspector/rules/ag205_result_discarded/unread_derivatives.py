"""AG205: gradients with a graph that no loss is computed with."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.unread_derivatives import unread_derivatives as found_derivatives
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def unread_derivatives(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that asks for such gradients."""
    for found in found_derivatives(analysis):
        place = analysis.capture.place(found.last.site)
        name = (place.assigned or place.target) if place is not None else ""
        names = names_of(analysis, found.parameters)
        what = name or f"the result of `{found.last.name}`"
        yield Problem(
            "warning",
            f"{what} is computed from gradients that were taken with create_graph=True, and nothing reads it: the loss is "
            f"computed from {summarize_names(names)} as {agree(names, 'it is', 'they are')}, and does not depend on {what}",
            f"Compute the loss with {what}: pass it to the forward (torch.func.functional_call), or add it as a term. If it is "
            "only measured, leave out create_graph=True.",
            analysis.places(
                (found.last, "computed here, and not read"),
                (found.instead, f"{agree(names, 'parameter', 'parameters')} used in the loss here"),
                (found.asked, "gradients taken with a graph here"),
                (found.backward, "backward called here"),
            ),
            (what, *names),
            ops=(found.asked.index, found.last.index),
        )
