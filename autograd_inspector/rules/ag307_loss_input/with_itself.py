"""AG307: a loss that compares a tensor with itself."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, output_of_layer
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.with_itself import with_itself
from autograd_inspector.model.finding import Problem


def compared_with_itself(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    for found in with_itself(analysis):
        made = analysis.flow.birth(found.tensor)
        name = (output_of_layer(analysis, made) if made is not None else "") or name_of(analysis, found.tensor)
        yield Problem(
            "warning",
            f"`{found.op.name}` compares {name} with itself: both arguments are the same tensor, so this part of the loss is "
            "always zero and has no gradient",
            "Pass the prediction and the target as two tensors. Check where both come from: two names, or two entries that "
            "were stored under one key, refer to the same tensor.",
            analysis.places(
                (found.op, "compared here"),
                *((hook.site, "hook that gets this tensor, registered here") for hook in found.hooks[-2:]),
                *((site, "stored by the hook here") for hook in found.hooks[-1:] for site in hook.stores),
                (found.copied, "module copied here, with the same hook"),
                (made, "tensor computed here"),
            ),
            (name, found.op.name),
            ops=(found.op.index,),
        )
