"""AG202 for custom Functions that keep tensors as attributes of ``ctx``, which autograd does not check."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward, Node, SavedTensor
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Trait
from autograd_inspector.rules.edits.saving import made_at, place_of, saved_name, saver_name
from autograd_inspector.rules.edits.standing import Edits
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.places import unique


def on_ctx(saved: SavedTensor) -> bool:
    """Whether a custom Function holds it as a plain attribute."""
    return saved.name.startswith("ctx.")


def ctx_edits(facts: Facts, edits: Edits, run: Backward, nodes: list[Node], seen: set[int]) -> Iterator[Finding]:
    """Such tensors, modified between the Function's forward and its backward, which mentions them.

    Likely, no more: backward may read nothing but the shape.
    """
    tensors = facts.capture.tensors
    for node in nodes:
        for saved in node.saved if node.op >= 0 else ():
            if not on_ctx(saved) or saved.tensor < 0:
                continue
            name, saver = saved_name(facts, node, saved), saver_name(facts, node)
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
                yield Finding(
                    "AG202",
                    "unseen-edit",
                    "warning",
                    f"{saver} kept {name} as `{attribute}` for its backward, and `{op.name}` modified it afterwards: an "
                    "attribute of ctx is not checked, so the gradients are likely wrong",
                    f"Keep it by `ctx.save_for_backward(...)` instead of `ctx.{kept} = ...`, so that autograd checks it, and "
                    f"modify {name} only after backward(), or a `.clone()` of it.",
                    unique(
                        [
                            *facts.chain(op.site, "modified here"),
                            *facts.chain(facts.capture.ops[node.op].site, "kept here"),
                            *facts.chain(run.site, "backward used the new values here"),
                        ]
                    ),
                    (name, attribute),
                    (
                        f"{saver} kept {name} at version {saved.saved_version}.",
                        f"`{op.name}` moved it from version {write.before} to {write.after}{place_of(facts, op)}.",
                        "Likely: whether backward reads its values or its shape alone is not observed.",
                    ),
                    (op.index,),
                )
