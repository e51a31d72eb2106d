"""Values of a graph that are outside of torch: Dynamo has NumPy arrays, and numbers, among its nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from autograd_inspector.capture.torch_private.compiled import numpy_calls, tensor_of_tensors

LEAVES, OUTSIDE, RETURNS = "leaves", "outside", "returns"
NUMBER = " as a number"
"""Behind a role: where there are data, the number itself shows what becomes of it."""
_RETURNING = (torch.as_tensor, torch.tensor, torch.from_numpy)
_NUMBERS = frozenset({"item", "tolist"})
EXPORTS = _NUMBERS | {"numpy"}
"""Methods of a tensor by which its values leave torch."""


def roles_of(nodes: Iterable[Any]) -> dict[Any, str]:
    """Which nodes take a value out of torch, compute with such values, or bring one back."""
    kinds, returning = numpy_calls(), (*_RETURNING, tensor_of_tensors())
    roles: dict[Any, str] = {}
    for node in nodes:
        if node.op == "call_method" and _taken_out(node, kinds):
            roles[node] = LEAVES + NUMBER * (node.target in _NUMBERS)
        elif node.op == "call_function" and isinstance(node.target, kinds):
            roles[node] = OUTSIDE
        elif node.op == "call_function" and any(each in roles for each in node.all_input_nodes):
            sources = [roles.get(each, "") for each in node.all_input_nodes]
            number = NUMBER * any(each.endswith(NUMBER) for each in sources)
            if node.target in returning:
                roles[node] = RETURNS + number
            elif all(each.startswith((LEAVES, OUTSIDE)) for each in sources) and not _is_tensor(node):
                roles[node] = OUTSIDE + number  # Python's own operators, on numbers.
    return roles


def _is_tensor(node: Any) -> bool:
    return isinstance(node.meta.get("example_value"), torch.Tensor)


def _taken_out(node: Any, kinds: tuple[type, ...]) -> bool:
    """``x.item()``; or ``x.numpy()``, which Dynamo writes as a view of x that only NumPy or the way back is given."""
    if node.target in _NUMBERS:
        return True
    same = node.target == "view_as" and len(node.args) == 2 and node.args[0] is node.args[1]  # noqa: PLR2004
    return same and bool(node.users) and all(_takes_arrays(user, kinds) for user in node.users)


def _takes_arrays(node: Any, kinds: tuple[type, ...]) -> bool:
    return node.op == "call_function" and (isinstance(node.target, kinds) or node.target in _RETURNING)
