"""AG202 for custom Functions that keep tensors as attributes of ``ctx``, which autograd does not check."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.saved_tensors import place_of, saved_name, saver_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.saved_tensors import made_at, on_ctx
from autograd_inspector.analysis.unseen_edits.standing import Edits
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait


def ctx_edits(analysis: Analysis, edits: Edits, run: Backward, nodes: list[Node], seen: set[int]) -> Iterator[Problem]:
    """Such tensors, modified between the Function's forward and its backward, which mentions them.

    Likely, no more: backward may read nothing but the shape.
    """
    tensors = analysis.capture.tensors
    for node in nodes:
        for saved in node.saved if node.op >= 0 else ():
            if not on_ctx(saved) or saved.tensor < 0:
                continue
            name, saver = saved_name(analysis, node, saved), saver_name(analysis, node)
            attribute = saved.name
            for op, write in edits.standing(saved.storage, saved.tensor, made_at(node), run.start).certain:
                if (
                    op.site in seen
                    or op.has(Trait.COLLECTIVE)
                    or not tensors[write.tensor].overlaps(tensors[saved.tensor])
                ):
                    continue
                seen.add(op.site)
                kept = attribute.removeprefix("ctx.")
                yield Problem(
                    "warning",
                    f"{saver} kept {name} as `{attribute}` for its backward, and `{op.name}` modified it afterwards: autograd does not check attributes of ctx, so the gradients are likely wrong",
                    f"Save it with `ctx.save_for_backward(...)` instead of `ctx.{kept} = ...`, so that autograd checks it, and "
                    f"modify {name} only after backward(), or a `.clone()` of it.",
                    analysis.places(
                        (op, "modified here"),
                        (analysis.capture.ops[node.op], "kept here"),
                        (run, "backward used the new values here"),
                    ),
                    (name, attribute),
                    (
                        f"{saver} kept {name} at version {saved.saved_version}.",
                        f"`{op.name}` moved it from version {write.before} to {write.after}{place_of(analysis, op)}.",
                        "Likely: the capture does not show whether backward reads its values or only its shape.",
                    ),
                    (op.index,),
                )
