"""Running something under a capture, and finding one's way in it."""

from collections.abc import Callable
from typing import Any

import autograd_inspector
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def observe(program: Callable[..., Any], *args: Any) -> Capture:
    """The capture of one call."""
    with autograd_inspector.inspect() as inspection:
        program(*args)
    return inspection.report.capture


def names(capture: Capture) -> list[str]:
    """The ops, in order."""
    return [op.name for op in capture.ops]


def op(capture: Capture, name: str) -> Op:
    """The one op of that name."""
    (match,) = [op for op in capture.ops if op.name == name]
    return match


def nodes(capture: Capture, run: int = 0) -> list[str]:
    """The autograd nodes of one engine run."""
    return [node.name.removeprefix("torch::autograd::") for node in capture.graph_of(capture.backwards[run]).nodes]


def saved(capture: Capture, run: int = 0) -> dict[str, str]:
    """node.name -> status of every saved tensor of one engine run."""
    graph = capture.graph_of(capture.backwards[run])
    return {f"{node.name}.{item.name}": item.status for node in graph.nodes for item in node.saved}
