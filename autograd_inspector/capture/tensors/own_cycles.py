"""Hooks that hold the tensor that they are on: a cycle through the graph, which Python's collector does not see."""

from __future__ import annotations

from functools import partial
from types import FunctionType, MethodType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.lines.attributes import own_attributes
from autograd_inspector.capture.lines.callables import held_by
from autograd_inspector.capture.tensors.attributes import node_of

_NODES = 256
"""So many nodes of the graph of what a hook holds are looked at."""


def holds_own_graph(hook: Any, tensor: Tensor) -> bool:
    """Whether what the hook was given when it was made holds the tensor, or one that was computed from it."""
    node = node_of(tensor)
    if node is None:
        return False
    return any(held is tensor or _reaches(node_of(held), node) for held in _tensors(hook))


def _tensors(hook: Any) -> list[Tensor]:
    parts: list[Any] = []
    while type(hook) is partial:
        parts += (*hook.args, *hook.keywords.values())
        hook = hook.func
    if type(hook) is MethodType:
        parts += dict.values(own_attributes(hook.__self__) or {})
        hook = hook.__func__
    if type(hook) is FunctionType:
        parts += held_by(hook)
    return [part for part in parts if issubclass(type(part), Tensor)]


def _reaches(start: Any, node: Any) -> bool:
    todo, seen = [start], set[Any]()
    while todo and len(seen) < _NODES:
        each = todo.pop()
        if each is node:
            return True
        if each is not None and each not in seen:
            seen.add(each)
            todo += (child for child, _ in each.next_functions)
    return False
