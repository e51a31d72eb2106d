"""A tensor's place in the graph, asked for without raising."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def node_of(tensor: Tensor) -> Any:
    """``tensor.grad_fn``; None also for a view that torch forbids to use, since its base was modified in place.

    Such a view (of an op that returns several, or made under no_grad) raises on every look at its history.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def is_leaf(tensor: Tensor) -> bool:
    """``tensor.is_leaf``; False for such a view."""
    try:
        return tensor.is_leaf
    except RuntimeError:
        return False
