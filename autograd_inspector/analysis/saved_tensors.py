"""What autograd has saved for backward: since when, and which version counter it compares."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Node, SavedTensor
from autograd_inspector.model.op import Trait
from autograd_inspector.model.torch_names import CHECKPOINT

Saved = tuple[Node, SavedTensor]


def made_at(node: Node) -> int:
    """The first op index at which the node's saved tensors were already saved."""
    return node.op + 1 if node.op >= 0 else max(node.position, 0)


def counter_of(analysis: Analysis, saved: SavedTensor) -> int:
    """The version counter that autograd compares: its storage's, unless it is a `.data` alias or a view of one."""
    return analysis.capture.tensors[saved.tensor].counter if saved.tensor >= 0 else saved.storage


def recomputes(analysis: Analysis) -> bool:
    """Whether the program used a reentrant checkpoint, which runs its function again in a backward of its own."""
    return any(op.has(Trait.FUNCTION) and op.name == CHECKPOINT for op in analysis.capture.ops)


def on_ctx(saved: SavedTensor) -> bool:
    """Whether a custom Function holds it as a plain attribute."""
    return saved.name.startswith("ctx.")
