"""AG109: a teacher in eval mode that learns through the target of a loss."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.optimizer_snippets import collected
from autograd_inspector.advice.remedies.cuts import detached
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.targets import TrainedTarget, trained_targets
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.remedy import Insert, Remedies
from autograd_inspector.model.wording import agree, summarize_names


def learning_teachers(analysis: Analysis) -> Iterator[Problem]:
    """One finding for the last step that is like that."""
    for found in trained_targets(analysis):
        names = [name_of(analysis, tensor) for tensor in sorted(found.tensors)]
        them = agree(names, "it", "them")
        holders = [o for o in analysis.capture.placement.holding(found.tensors) if o.steps]
        yield Problem(
            "warning",
            f"backward reaches {summarize_names(names)} through the target of `{found.op.name}` alone, and an optimizer steps "
            f"{them}: {agree(names, 'its module is', 'their modules are')} in eval mode, as for a teacher, and the target moves towards the prediction",
            "Compute the target under torch.no_grad() or detach() it, freeze the teacher with requires_grad_(False), and pass only the trained parameters to the optimizer.",
            analysis.places(
                (found.use, "the target is computed with gradient here"),
                (found.op, "taken as the target here"),
                *((o, "given to the optimizer here") for o in holders),
            ),
            tuple(names),
            ops=(found.op.index,),
            cures=(*_frozen(analysis, found, holders), *detached(analysis, found.op, found.op.inputs[1])),
        )


def _frozen(analysis: Analysis, found: TrainedTarget, holders: list[OptimizerRecord]) -> Iterator[Remedies]:
    """The teacher is frozen before the optimizer is made."""
    parameters, model = collected(analysis, found.tensors)
    place = analysis.capture.place(holders[0].site) if holders else None
    if place is None or not parameters:
        return
    inside = parameters.removeprefix(f'{model}.get_submodule("').removesuffix('").parameters()')
    if inside != parameters and all(part.isidentifier() for part in inside.split(".")):
        yield (Insert(place, f"{model}.{inside}.requires_grad_(False)"),)
    else:
        yield (Insert(place, f"for p in {parameters}:\n    p.requires_grad_(False)"),)
