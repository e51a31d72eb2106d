"""AG409 where state was loaded into an optimizer that another one has replaced before any step."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import in_order
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.loaded_in_vain import loaded_in_vain
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def made_after_the_load(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each load."""
    for found in loaded_in_vain(analysis):
        kind, names = found.following.type, names_of(analysis, found.tensors)
        yield Problem(
            "warning",
            f"the state that was loaded into {kind} is lost: a new {kind} was created for {summarize_names(names)} after the load, "
            "and its first step starts without state",
            "Create the optimizer first, once, and then load the state into it.",
            analysis.places(
                (found.following, "new optimizer created here"),
                (found.loaded, "state loaded here, into the old one"),
                (found.step, "step() starts without state here"),
            ),
            (kind, *names),
            ops=(found.step.op,),
            cures=tuple(in_order(analysis, found.loaded.site, found.following.site)),
        )
