"""Saved tensors, in words: who saved what, and who modified it."""

from __future__ import annotations

from autograd_inspector.model.autograd import Node, SavedTensor
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.catalogue import Facts

Saved = tuple[Node, SavedTensor]


def made_at(node: Node) -> int:
    """The first op index at which the node's saved tensors were already saved."""
    return node.op + 1 if node.op >= 0 else max(node.position, 0)


def edit_name(facts: Facts, op: Op) -> str:
    """The modifying op, with the module or the custom Function that ran it."""
    if op.has(Trait.INNER):
        outer = next((o for o in facts.capture.ops[op.index + 1 :] if o.has(Trait.FUNCTION)), None)
        if outer is not None:
            return f"{op.name} in {outer.name.removesuffix('.apply')}.forward"
    if op.call >= 0 and facts.capture.calls[op.call].inplace:
        call = facts.capture.calls[op.call]
        return f"{op.name} of '{call.path or call.type}' (nn.{call.type}, inplace=True)"
    return op.name


def saver_name(facts: Facts, node: Node) -> str:
    """The op and node that saved, with the module it ran in."""
    short = node.name.rsplit("::", 1)[-1]
    if node.op < 0:
        return short
    op = facts.capture.ops[node.op]
    call = facts.capture.calls[op.call] if op.call >= 0 else None
    within = f" in '{call.path}'" if call is not None and call.path else ""
    return f"`{op.name}` ({short}){within}"


def saved_name(facts: Facts, node: Node, saved: SavedTensor) -> str:
    """The saved tensor's name: its own, that of its memory, else what the node calls it."""
    if saved.tensor >= 0 and (
        facts.capture.tensors[saved.tensor].names or facts.capture.tensors[saved.tensor].variable
    ):
        return facts.capture.tensors[saved.tensor].name
    return facts.storage_name(saved.storage) or f"the {saved.name} {list(saved.shape)} of {saver_name(facts, node)}"


def place_of(facts: Facts, op: Op) -> str:
    """Where an op ran, for the end of a sentence."""
    place = facts.capture.place(op.site)
    inside = " while backward recomputed a checkpoint" if op.has(Trait.BACKWARD) else ""
    return f"{inside} ({place.place})" if place is not None else inside


def counter_of(facts: Facts, saved: SavedTensor) -> int:
    """The version counter that autograd compares: its storage's, unless it is a `.data` alias or a view of one."""
    return facts.capture.tensors[saved.tensor].counter if saved.tensor >= 0 else saved.storage
