"""AG407 where models that are to learn apart are shallow copies, which share their parameters."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.shallow_copies import TrainedTogether, trained_together
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rewrites import DeepCopy
from autograd_inspector.model.wording import summarize_names


def shallow_copies(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that copies."""
    for found in trained_together(analysis):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: TrainedTogether) -> Problem:
    shared = found.copies
    name, names = shared.name, names_of(analysis, shared.tensors)
    model = analysis.capture.models[shared.model]
    return Problem(
        "warning",
        f"{shared.count} models have the same parameters, {summarize_names(names)}: {name} is a shallow copy of {model}, and "
        f"{len(found.optimizers)} optimizers move the same tensors, each for another one of them",
        f"Copy the model with its parameters: `{name} = copy.deepcopy(...)`. `copy.copy` of a module shares them.",
        analysis.places((shared, "copied here"), (found.optimizers[-1], "optimizer created here")),
        tuple(dict.fromkeys((name, model, *names))),
        cures=tuple((DeepCopy(place),) for place in analysis.user_frames(shared.site, "")[:1]),
    )
