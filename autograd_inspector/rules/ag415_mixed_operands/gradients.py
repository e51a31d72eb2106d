"""AG415 where one call is given gradients that are spread over the ranks, and gradients that are not."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.seen_gradients import gradients_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.wording import summarize_names


def gradients_shards_and_whole(analysis: Analysis, op: Op) -> Iterator[Problem]:
    """Of parameters that ``fully_shard`` left out, or that are no part of a parallel layer."""
    owner = {gradient: tensor for tensor, met in gradients_of(analysis.capture).items() for gradient in met}
    given = {owner[tensor] for tensor in op.inputs if tensor in owner}
    spread = {row.tensor for row in analysis.capture.placement.rows if row.sharding is not None}
    parts, whole = names_of(analysis, sorted(given & spread)), names_of(analysis, sorted(given - spread))
    if not parts or not whole:
        return
    sharder = next((e for e in analysis.reductions.sharded_models if not given.isdisjoint(e.tensors)), None)
    clipping = "norm" in op.name
    yield Problem(
        "error",
        f"`{op.name}` got the gradients of {summarize_names(parts)}, of which each rank holds a part (DTensor), together with those "
        f"of {summarize_names(whole)}, which are ordinary tensors"
        + (": clip_grad_norm_() takes gradients of one kind" if clipping else ""),
        "Shard the rest of the model too: `fully_shard(model)` on the root. Or compute one norm of each kind with "
        "`torch.nn.utils.get_total_norm`, with `.full_tensor()` for DTensors, and pass the norm of both to "
        "`clip_grads_with_norm_` for each kind."
        if clipping
        else "Shard the rest of the model too: call fully_shard() on the root. Or call it for each kind of gradients by itself.",
        (*analysis.user_frames(op.site, "used together here"), *analysis.places((sharder, "sharded here"))),
        (*parts, *whole),
        ops=(op.index,),
    )
