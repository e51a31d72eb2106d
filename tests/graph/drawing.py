"""Two pictures of one autograd graph, torchviz's and ours, brought into one form that can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from torchviz import make_dot

from autograd_inspector.model.autograd import AutogradGraph, Node
from autograd_inspector.model.tensor import TensorRecord

_BOX = re.compile(r'^\t(\d+) \[label="?([^"\]]*?)"?(?: fillcolor=(\w+))?\]\n$', re.DOTALL)
_ARROW = re.compile(r"^\t(\d+) -> (\d+)(?: \[(.*)\])?\n$")
OUTPUT = "darkolivegreen1"


class Box(NamedTuple):
    """A node as it is drawn: its name, the shape of its parameter if it accumulates one, where its edges lead."""

    name: str
    shape: tuple[int, ...] | None
    edges: tuple[int, ...]


def numbered(roots: Iterable[Hashable], look: Callable[[Hashable], Box]) -> tuple[Box, ...]:
    """The nodes in the order of a depth-first walk, with edges as positions in that order.

    Edges have an order (``next_functions``), so equal forms mean the same graph, not only the same multisets of
    names and of pairs of names.
    """
    order: dict[Hashable, int] = {}
    stack = list(roots)[::-1]
    while stack:
        key = stack.pop()
        if key not in order:
            order[key] = len(order)
            stack += look(key).edges[::-1]
    return tuple(box._replace(edges=tuple(order[e] for e in box.edges)) for box in map(look, order))


def torchviz_form(*outputs) -> tuple[Box, ...]:
    """What torchviz draws, less what is no autograd node: the boxes of tensors and the lines to them.

    It draws an edge at each use, before it descends: the arrows into a box stand in ``next_functions``' order.
    """
    labels: dict[str, str] = {}
    colours: dict[str, str] = {}
    into: dict[str, list[str]] = {}
    for line in make_dot(outputs).body:
        if box := _BOX.match(line):
            labels[box[1]], colours[box[1]] = box[2], box[3] or ""
        elif (arrow := _ARROW.match(line)) and "dir=none" not in (arrow[3] or ""):
            into.setdefault(arrow[2], []).append(arrow[1])
        else:
            assert "dir=none" in line, f"a line of torchviz's that this test does not understand: {line!r}"

    def look(key: str) -> Box:
        below = into.get(key, [])
        # Blue, unless a custom Function saved the parameter too: then torchviz has painted it orange since.
        leaves = [_shape(labels[b]) for b in below if colours[b]]
        return Box(labels[key], leaves[0] if leaves else None, tuple(b for b in below if not colours[b]))

    shown = [key for key, colour in colours.items() if colour == OUTPUT]
    roots = [source for key in shown for source in into[key] if not colours[source]]
    form = numbered(roots, look)
    assert len(form) == sum(not colour for colour in colours.values()), "nodes that no output leads to"
    return form


def our_form(graph: AutogradGraph, tensors: tuple[TensorRecord, ...]) -> tuple[Box, ...]:
    """The same of our record of the graph."""

    def look(index: int) -> Box:
        node: Node = graph.nodes[index]
        shape = tensors[node.variable].shape if node.variable >= 0 else None
        return Box(_short(node.name), shape, tuple(child for child, _ in node.edges))

    form = numbered(graph.roots, look)
    assert len(form) == len(graph.nodes), "nodes that no root leads to"
    return form


def _short(name: str) -> str:
    """Torchviz shows the name of the wrapper's class, we what the node calls itself: with C++'s namespace."""
    return name.removeprefix("torch::autograd::")


def _shape(label: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\d+", label.rsplit("(", 1)[1]))
