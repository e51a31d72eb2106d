"""What is kept with autograd's node of a compiled region, for as long as autograd keeps that: what lies inside it."""

from __future__ import annotations

from typing import Any

from torch.autograd.function import BackwardCFunction

_KEY = "autograd_inspector"


def put_inside(region: Any, inside: Any) -> None:
    """Keep it."""
    region.metadata[_KEY] = inside


def inside_of(node: Any) -> Any:
    """What lies inside a node; None where it is no compiled region's."""
    return node.metadata.get(_KEY) if isinstance(node, BackwardCFunction) else None
