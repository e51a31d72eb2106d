"""The autograd graph as it stood when backward was called.

A node is recorded once, however many runs of the engine go through it. One whose saved tensors were found otherwise by
a later run is recorded again, with the nodes above it, so that each run keeps the graph that it found.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

LEAF_SEQUENCE = 2**64 - 1
"""What an AccumulateGrad node says its sequence number is."""

SavedStatus = Literal["valid", "modified", "freed", "packed", "unverifiable"]
Witness = Literal["node", "edge", "op"]
"""Who tells of a node and of what lies below it.

``node``: autograd's own node was met and opened. ``edge``: it was met and not opened; what lies below is told by the
record of the op that made it. ``op``: it was not met; the record of an op stands in for all nodes that the op made.
"""


class SavedTensor(Struct, frozen=True, omit_defaults=True, gc=False):
    """A tensor that a node keeps for backward.

    ``saved_version`` is the version counter when it was saved, ``current_version`` when the graph was walked.
    ``packed``: a saved-tensor hook holds it, so it was not looked at. ``verdict`` is autograd's own error text.
    ``unused``: the node's backward formula does not read it in this mode (a training batch norm's statistics).
    """

    name: str
    tensor: int
    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    storage: int
    offset: int
    extent: int
    status: SavedStatus
    saved_version: int | None = None
    current_version: int | None = None
    verdict: str = ""
    unused: bool = False


class Node(Struct, frozen=True, omit_defaults=True, gc=False):
    """One autograd node: ``edges`` are (node index, input number) pairs of ``next_functions``.

    ``index`` is its place in ``Capture.nodes``; in the graph of one run, taken by itself, its place there.

    ``op`` is the op that made it (-1 unknown), ``variable`` the tensor of an AccumulateGrad node, ``position`` how
    many ops had run when it was made. ``told_by`` is who knows of it; of what was never met no saved tensor is known.
    ``blind``: of some of what lies below it nothing is known at all.
    """

    index: int
    name: str
    seq: int
    edges: tuple[tuple[int, int], ...]
    op: int = -1
    variable: int = -1
    position: int = -1
    saved: tuple[SavedTensor, ...] = ()
    hooks: int = 0
    failed: bool = False
    told_by: Witness = "node"
    blind: bool = False

    def placed(self, index: int, edges: tuple[tuple[int, int], ...]) -> Node:
        """The node at another place: what ``replace`` does, in a third of its time."""
        return Node(
            index,
            self.name,
            self.seq,
            edges,
            self.op,
            self.variable,
            self.position,
            self.saved,
            self.hooks,
            self.failed,
            self.told_by,
            self.blind,
        )

    @property
    def leaf(self) -> bool:
        """It accumulates a gradient, so it has no sequence number of its own."""
        return self.seq == LEAF_SEQUENCE

    @property
    def met(self) -> bool:
        """Autograd's own node was looked at."""
        return self.told_by != "op"

    @property
    def older(self) -> bool:
        """It was made before the capture began."""
        return self.op < 0 and self.position <= 0


class GraphHead(Struct, frozen=True, omit_defaults=True):
    """Where a run entered the graph: ``roots`` are places in ``Capture.nodes``, the graph is all that they lead to.

    ``truncated``: the walk of autograd's own nodes stopped where going on would have endangered the program; the
    records of ops tell of the rest. ``blind``: of some of that not even they do.
    """

    roots: tuple[int, ...] = ()
    truncated: bool = False
    blind: bool = False


class AutogradGraph(Struct, frozen=True):
    """The graph of one run by itself: ``edges`` and ``roots`` are places in ``nodes``."""

    nodes: tuple[Node, ...] = ()
    roots: tuple[int, ...] = ()
    truncated: bool = False
    blind: bool = False


class Backward(Struct, frozen=True, omit_defaults=True):
    """One run of the autograd engine (``backward`` or ``grad``), or a graph ``alive`` at the end that none consumed.

    ``start`` and ``end`` are op indices around it; ``roots`` the tensors it started from, ``reached`` the leaves
    whose AccumulateGrad the graph holds (or the ``inputs`` asked for), ``empty`` those of them whose ``.grad`` was
    still None afterwards, ``taken`` those of these whose gradient a hook had used or cleared by then, ``stale`` those
    that had one already before. ``untouched``: where the graph is ``blind``, the leaves whose ``.grad`` was looked at
    before and afterwards and was the same. ``weights``: the gradients of roots that the program gave; none for ones.
    """

    index: int
    api: Literal["backward", "grad", "alive"]
    start: int
    end: int
    site: int
    roots: tuple[int, ...]
    graph: GraphHead
    reached: tuple[int, ...] = ()
    empty: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()
    untouched: tuple[int, ...] = ()
    nested_in: int = -1
    retain_graph: bool = False
    create_graph: bool = False
    error: str = ""
    weights: tuple[int, ...] = ()

    @property
    def completed(self) -> bool:
        """Whether it is a backward() that came to its end: the leaves have their gradients in ``.grad``."""
        return self.api == "backward" and not self.error
