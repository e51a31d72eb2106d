"""AG407 where models that are to learn apart are shallow copies, which share their parameters."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.shallow_copies import (
    EqualTwins,
    TrainedTogether,
    equal_twins,
    trained_together,
)
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rewrites import DeepCopy
from autograd_inspector.model.wording import summarize_names


def shallow_copies(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that copies."""
    told: set[int] = set()
    for found in trained_together(analysis):
        told.update(found.copied.tensors)
        yield _problem(analysis, found)
    for twins in equal_twins(analysis):
        if told.isdisjoint(twins.copied.tensors):
            yield _equal(analysis, twins)


def _problem(analysis: Analysis, found: TrainedTogether) -> Problem:
    copied, names = found.copied, names_of(analysis, found.copied.tensors)
    return Problem(
        "warning",
        f"`copy.copy` made {found.count} shallow copies of a {copied.type}, which share its parameters, "
        f"{summarize_names(names)}, and {len(found.optimizers)} optimizers move the same tensors, each for another one of them",
        "Copy the model with its parameters: `copy.deepcopy(...)`. `copy.copy` of a module shares them.",
        analysis.places((copied, "copied here"), (found.optimizers[-1], "optimizer created here")),
        tuple(dict.fromkeys((copied.type, *names))),
        cures=at_line(analysis, copied.site, DeepCopy),
    )


def _equal(analysis: Analysis, found: EqualTwins) -> Problem:
    display = analysis.capture.display_names
    one, other = display.layer(found.one), display.layer(found.other)
    names = names_of(analysis, found.copied.tensors)
    both = f"{one} and {other}" if one != other else f"{one} and its copy"
    return Problem(
        "warning",
        f"{both} have the same parameters, {summarize_names(names)}: copy.copy() of a module shares them. Both get the same "
        "inputs and return the same values",
        "Copy the module with its parameters: `copy.deepcopy(...)`; or create a new one.",
        analysis.places((found.copied, "copied here"), (found.one, "called here"), (found.other, "called here")),
        tuple(dict.fromkeys((one, other, *names))),
        cures=at_line(analysis, found.copied.site, DeepCopy),
    )
