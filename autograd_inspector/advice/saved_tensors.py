"""Saved tensors, in words: who saved what, and who modified it."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_inspector.advice.naming import is_named, layer_of, name_of
from autograd_inspector.advice.receivers import receiver
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ops_of import calls_of
from autograd_inspector.model.autograd import Node, SavedTensor
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.torch_names import CHECKPOINT

Saved = tuple[Node, SavedTensor]


def made_at(node: Node) -> int:
    """The first op index at which the node's saved tensors were already saved."""
    return node.op + 1 if node.op >= 0 else max(node.position, 0)


def around(analysis: Analysis, op: Op) -> Op | None:
    """The custom Function whose forward ran the op."""
    if not op.has(Trait.INNER):
        return None
    return next((o for o in analysis.capture.ops[op.index + 1 :] if o.has(Trait.FUNCTION)), None)


def edit_name(analysis: Analysis, op: Op) -> str:
    """The modifying op as code, and in words the module or the custom Function that ran it."""
    outer = around(analysis, op)
    if outer is not None and outer.name == CHECKPOINT:
        return f"`{op.name}` under checkpoint(use_reentrant=True)"
    if outer is not None:
        return f"`{op.name}` in {outer.name.removesuffix('.apply')}.forward"
    if op.call >= 0 and analysis.capture.calls[op.call].inplace:
        call = analysis.capture.calls[op.call]
        return f"`{op.name}` of {analysis.capture.display_names.layer(call)} (nn.{call.type}, inplace=True)"
    return f"`{op.name}`"


def saver_name(analysis: Analysis, node: Node) -> str:
    """The op and node that saved, with the module it ran in."""
    short = node.name.rsplit("::", 1)[-1]
    if node.op < 0:
        return short
    op = analysis.capture.ops[node.op]
    layer = layer_of(analysis, op)
    return f"`{op.name}` ({short})" + (f" in {layer}" if layer else "")


def recomputes(analysis: Analysis) -> bool:
    """Whether the program used a reentrant checkpoint, which runs its function again in a backward of its own."""
    return any(op.has(Trait.FUNCTION) for op in calls_of(analysis.capture, CHECKPOINT))


def saved_name(analysis: Analysis, node: Node, saved: SavedTensor, edits: Sequence[tuple[Op, Write]] = ()) -> str:
    """The saved tensor's name: its own, that of its memory, what it is modified as, else what the node calls it."""
    if saved.tensor >= 0 and is_named(analysis, saved.tensor):
        return name_of(analysis, saved.tensor)
    modified_as = (receiver(analysis.capture.place(op.site), op.name) for op, _ in edits)
    display_name = analysis.capture.display_names.of_memory(saved.storage) or next(filter(None, modified_as), "")
    return display_name or f"the {saved.name} {list(saved.shape)} of {saver_name(analysis, node)}"


def place_of(analysis: Analysis, op: Op) -> str:
    """Where an op ran, for the end of a sentence."""
    place = analysis.capture.place(op.site)
    inside = " while backward recomputed a checkpoint" if op.has(Trait.BACKWARD) else ""
    return f"{inside} ({place.place})" if place is not None else inside


def counter_of(analysis: Analysis, saved: SavedTensor) -> int:
    """The version counter that autograd compares: its storage's, unless it is a `.data` alias or a view of one."""
    return analysis.capture.tensors[saved.tensor].counter if saved.tensor >= 0 else saved.storage
