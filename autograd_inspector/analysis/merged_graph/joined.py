"""Autograd nodes of all walks, each once, with the op that made it."""

from __future__ import annotations

from autograd_inspector.model.autograd import Node
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait

Key = tuple[int, str]
"""A node's sequence number and name; an AccumulateGrad has no number of its own, so its place."""

_INNER, _FUNCTION = int(Trait.INNER), int(Trait.FUNCTION)


def homes(capture: Capture) -> list[int]:
    """For each op the op that stands for it: itself, or the custom Function whose forward it ran in.

    Where a Function raised, the ops of its forward stand for themselves: nothing came out of it that they went into.
    """
    ops = capture.ops
    home_of_op = list(range(len(ops)))
    start = -1
    for index, op in enumerate(ops):
        if op.traits & _INNER:
            start = index if start < 0 else start
        elif start >= 0:
            if op.traits & _FUNCTION and not op.error:
                home_of_op[start:index] = [index] * (index - start)
            start = -1
    return home_of_op


class Joined:
    """``made``: the autograd nodes of each op, none where its record stands in. ``alone``: those that no op made.

    ``blind``: ops of which autograd's edges do not tell all.
    """

    def __init__(self, capture: Capture, home: list[int]) -> None:
        self.home = home
        self.made: dict[int, dict[Key, Node]] = {}
        self.alone: dict[Key, Node] = {}
        self.blind: set[int] = set()
        for node in capture.nodes:
            if node.variable >= 0:
                continue
            group = self.alone if node.op < 0 else self.made.setdefault(home[node.op], {})
            if node.blind and node.op >= 0:
                self.blind.add(home[node.op])
            if not node.met:
                continue
            key = self.key(node)
            previous = group.get(key)
            # A later walk knows what became of the saved tensors, unless they have been freed by then.
            if previous is None or node.failed or len(node.saved) >= len(previous.saved):
                group[key] = node

    @staticmethod
    def key(node: Node) -> Key:
        """Which node it is, whichever walk met it."""
        return (-1 - node.index, node.name) if node.leaf else (node.seq, node.name)
