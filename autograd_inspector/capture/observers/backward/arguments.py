"""What a run of the engine is given: what it begins at, with which gradients, and where it is to end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from autograd_inspector.capture.graph_walk.regions import Edge
from autograd_inspector.capture.tensors.attributes import node_of
from autograd_inspector.capture.tensors.reading import any_nonzero


def options_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Name -> what was given, by its place or by that name."""
    names = ("grad_tensors", "retain_graph", "create_graph", "inputs")
    return dict(zip(names, args, strict=False)) | kwargs


def inputs_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The tensors that alone are to get a gradient."""
    return [tensor for tensor in options_of(args, kwargs).get("inputs") or () if isinstance(tensor, Tensor)]


def ends_of(outputs: Any) -> list[Edge]:
    """(node, which of its results) of each."""
    nodes = map(node_behind, outputs)
    return [(node, end.output_nr) for end, node in zip(outputs, nodes, strict=True) if node is not None]


def node_behind(end: Any) -> Any:
    """The node of a tensor, or of a GradientEdge."""
    return node_of(end) if isinstance(end, Tensor) else getattr(end, "node", None)


def seeds_of(outputs: Any, gradients: Any, roots: Iterable[int]) -> set[tuple[int, int]]:
    """(node, which of its results) of the outputs that a run begins at with a gradient other than zeros."""
    given = gradients if isinstance(gradients, (list, tuple)) else ()
    ends = [pair for pair in zip(outputs, given, strict=False) if node_behind(pair[0]) is not None]
    return {
        (root, end.output_nr)
        for root, (end, gradient) in zip(roots, ends, strict=False)
        if isinstance(gradient, Tensor) and any_nonzero(gradient)
    }
