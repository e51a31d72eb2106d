"""A tensor's place in the graph, asked for without raising."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograd_inspector.capture.torch_private.tensors import is_view


def node_of(tensor: Tensor) -> Any:
    """``tensor.grad_fn``; None also for a view that torch forbids to use, since its base was modified in place.

    Such a view (of an op that returns several, or made under no_grad) raises on every look at its history.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def has_history(tensor: Tensor) -> bool:
    """Whether it requires grad and some op made it, asked of any tensor of the program at any time.

    A view is not asked for its node: if its base was modified since, the look makes a new one, the old one dies, and
    torch's own errors name another op from then on.
    """
    return tensor.requires_grad and (is_view(tensor) or not is_leaf(tensor))


def is_leaf(tensor: Tensor) -> bool:
    """``tensor.is_leaf``; False for such a view."""
    try:
        return tensor.is_leaf
    except RuntimeError:
        return False
