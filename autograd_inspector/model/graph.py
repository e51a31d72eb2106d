"""The one merged graph: what the program computed, and where gradient can and cannot flow through it."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from msgspec import Struct

from autograd_inspector.model.autograd import SavedTensor

NodeKind = Literal["op", "function", "step", "autograd", "parameter", "buffer", "input", "gradient"]
EdgeKind = Literal["gradient", "data", "severed"]
Cause = Literal["", "detached", "no_grad", "inference_mode", "non-differentiable", "left autograd", "collective"]

LEAVES: frozenset[NodeKind] = frozenset({"parameter", "buffer", "input", "gradient"})
"""Kinds of nodes that are tensors the program started from, not calls."""


class GraphNode(Struct, frozen=True, omit_defaults=True, gc=False):
    """One box of the graph.

    ``op``: a torch call together with the autograd nodes that it made (``grad_fns``). ``function``: the same
    for a custom autograd.Function, ``folded`` ops of its forward included. ``step``: an optimizer step.
    ``autograd``: an autograd node that no recorded call made. The others are leaves: ``tensor`` is their id
    (for calls, the first result's), ``gradient`` the ``.grad`` of a parameter. ``path`` is the module that it
    ran in, ``call`` the call of that module. ``tracked``: gradient can flow through it. ``root``: a backward
    started from it. ``recomputed``: it ran inside the autograd engine.
    """

    id: int
    kind: NodeKind
    name: str
    path: str = ""
    op: int = -1
    tensor: int = -1
    call: int = -1
    site: int = -1
    grad_fns: tuple[str, ...] = ()
    saved: tuple[SavedTensor, ...] = ()
    hooks: int = 0
    folded: int = 0
    tracked: bool = False
    root: bool = False
    failed: bool = False
    recomputed: bool = False
    error: str = ""

    @property
    def leaf(self) -> bool:
        """A tensor, not a call."""
        return self.kind in LEAVES

    @property
    def modified(self) -> tuple[SavedTensor, ...]:
        """Its saved tensors that something modified afterwards."""
        return tuple([s for s in self.saved if s.status == "modified"]) if self.saved else ()


class GraphEdge(Struct, frozen=True, omit_defaults=True, gc=False):
    """A value that went from ``source`` to ``target``.

    ``gradient``: gradient comes back along it. ``data``: none is needed. ``severed``: the value required grad
    and what became of it does not; ``cause`` says why, ``site`` where (the switch of a grad mode, else the
    call), and ``live`` whether the value still went into something that a backward started from.
    """

    source: int
    target: int
    kind: EdgeKind
    tensor: int = -1
    cause: Cause = ""
    site: int = -1
    live: bool = False


class VersionEdge(Struct, frozen=True, gc=False):
    """What ``source`` had saved was modified in place by ``target``, from version ``before`` to ``after``."""

    source: int
    target: int
    before: int
    after: int

    @property
    def said(self) -> str:
        """``v0→v1``."""
        return f"v{self.before}→v{self.after}"


class Graph(Struct, frozen=True, omit_defaults=True, dict=True):
    """Nodes in program order (a leaf where it is first used), edges by target.

    ``roots``: for each run of the engine the nodes that it started from. ``saved_bytes``: memory that the graph
    keeps for backward, each byte counted once, parameters excluded.
    ``truncated``: the walk of autograd's nodes stopped at its depth limit; the ops stand in for the rest.
    """

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    roots: tuple[tuple[int, ...], ...] = ()
    saved_bytes: int = 0
    truncated: bool = False

    @cached_property
    def by_op(self) -> dict[int, int]:
        """The node of each op that has one of its own."""
        return {node.op: node.id for node in self.nodes if node.op >= 0}

    @cached_property
    def severed(self) -> tuple[GraphEdge, ...]:
        """The edges where gradient stopped."""
        return tuple(edge for edge in self.edges if edge.kind == "severed")
