"""AG109: a model that is compared with itself, where a loss of preferences needs a model that stays behind."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.own_references import own_references
from autograd_inspector.model.finding import Problem


def own_reference(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that subtracts the two."""
    for found in own_references(analysis):
        capture = analysis.capture
        model = capture.models[found.model.root]
        frozen = any(row.model == model and not row.requires_grad for row in capture.placement.rows)
        copied = (
            f"Compute the reference with a copy that no step changes: `copy.deepcopy({model}).requires_grad_(False)`"
        )
        region = capture.regions[found.again.region]
        value, reference = (name_of(analysis, tensor) for tensor in found.compared.inputs[:2])
        yield Problem(
            "warning",
            f"{model} is its own reference: it computes {value} and {reference} from the same input with the same parameters, so "
            "their difference is zero at each step. The loss has the same value whatever the parameters are, and its gradient "
            "does not become smaller as they move",
            f"{copied}, or without its trained adapter: `with model.disable_adapter():` of peft."
            if frozen
            else f"{copied}.",
            analysis.places(
                (region.site if region.kind != "enabled" else None, "reference computed in this block"),
                (found.again, "reference computed here"),
                (found.made, "the same value computed here"),
                (found.compared, "subtracted here"),
            ),
            (model, value, reference),
            ops=(found.compared.index,),
        )
