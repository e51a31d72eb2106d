"""Where in a compiled region's backward the first bad gradient is made.

The engine runs the region's one node. What lies inside it was run again on copies of the inputs (see ``Shadow``), so
where the region made a NaN out of sound gradients, its own backward is run once more, node by node.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from autograd_inspector.capture.recording.compiled_regions import inside_of
from autograd_inspector.capture.torch_private.graph import run_engine

Look = Callable[[Any, Any], None]
"""Given what a node passed on, and what it was given."""


def look_inside(region: Any, numbers: Mapping[Any, int], look_of: Callable[[int, Any], Look], received: Any) -> None:
    """Run the backward inside a region for what its node was given, and have each of its nodes looked at."""
    inside = inside_of(region)
    starts = [
        (GradientEdge(*edge), received[slot])
        for slot, edge in inside.ends
        if 0 <= slot < len(received) and isinstance(received[slot], Tensor) and edge[0] in numbers
    ]
    targets = [GradientEdge(node, 0) for node in inside.borders]
    if not starts or not targets or any(start.node in inside.borders for start, _ in starts):
        return
    with contextlib.ExitStack() as hooks:
        for node, number in _below(starts, numbers, inside.borders):
            hooks.callback(node.register_hook(look_of(number, node)).remove)
        with contextlib.suppress(RuntimeError), torch.no_grad():  # Its values are gone, or are no copies.
            run_engine(tuple([edge for edge, _ in starts]), tuple([gradient for _, gradient in starts]), tuple(targets))


def _below(starts: list[tuple[GradientEdge, Any]], numbers: Mapping[Any, int], borders: Any) -> list[tuple[Any, int]]:
    todo: list[Any] = [edge.node for edge, _ in starts]
    seen: dict[Any, int] = {}
    while todo:
        node = todo.pop()
        if node is not None and node not in seen and node not in borders and node in numbers:
            seen[node] = numbers[node]
            todo += [child for child, _ in node.next_functions]
    return list(seen.items())
