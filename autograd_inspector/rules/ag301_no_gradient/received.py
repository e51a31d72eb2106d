"""AG301 where the loss was to train a parameter by what another rank computed with its copy of it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.constant_loss_terms import received_terms
from autograd_inspector.analysis.gradient_cuts.received_terms import Received
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def by_other_ranks(analysis: Analysis, left: list[int]) -> Iterator[Problem]:
    """One finding, of the parameters that nothing else of the loss reaches."""
    several = left and analysis.reductions.several_ranks
    terms = received_terms(analysis.capture, analysis.flow, analysis.optimized_trainable) if several else iter(())
    found = next(terms, None)
    if found is not None:
        yield _problem(analysis, left, found)


def _problem(analysis: Analysis, left: list[int], found: Received) -> Problem:
    names, tensor = names_of(analysis, left), name_of(analysis, found.tensor)
    runs = [run for run in analysis.capture.backwards if run.api == "backward"]
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} in an optimizer but got no gradient: a term of the loss is computed "
        f"from {tensor}, which `{found.call.name}` received from another rank. A message brings the values without their graph, so the "
        "term is a constant on this rank",
        f"Compute {tensor} on this rank from what it was computed from: send the inputs (observations and actions), and call the "
        "model with them here.",
        analysis.places(
            (found.reader, "constant term computed here"),
            (found.call, "received here"),
            (runs[-1], "backward called here"),
        ),
        (*names, tensor),
        ops=(found.reader.index,),
    )
