"""AG206: a sum over the rounds of a loop, each of which replaces the one before."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.replaced_terms import ReplacedTerms, replaced_terms
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.remedy import Substitute
from autograd_inspector.model.wording import agree, summarize_names


def replaced(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    told: set[tuple[str, int] | None] = set()
    for found in replaced_terms(analysis):
        line = line_of(analysis, found.last.site)
        if line not in told:
            told.add(line)
            yield _problem(analysis, found)


def _problem(analysis: Analysis, found: ReplacedTerms) -> Problem:
    place = analysis.capture.place(found.last.site)
    name = place.target if place is not None and place.target.isidentifier() else "total"
    starved = names_of(analysis, found.starved)
    terms = len(found.lost) + 1
    end = "only the last one is used"
    if found.last.has(Trait.BACKWARD) and place is not None:
        end = f"and {place.function or 'backward()'} uses only the last one"
    if starved:
        end += f", and {summarize_names(starved)} {agree(starved, 'gets', 'get')} no gradient"
    return Problem(
        "warning",
        f"`{found.last.name}` computes {terms} terms after a sum was set to zero, and nothing adds them: each replaces the "
        f"one before, {end}",
        f"Add each term to the sum: `{name} = {name} + ...`.",
        analysis.places((found.last, "replaced here in each iteration"), (found.zeros, "zeros that nothing reads")),
        (*starved, name, found.last.name),
        ops=tuple(op.index for op in (*found.lost, found.last)),
        cures=() if place is None or name != place.target else ((Substitute(place, "", f"{name} + {{}}"),),),
    )
