"""Nodes that a gradient of ones comes to as another one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Node

_UNIT = re.compile(
    r"(Add|Sum|Clone|Alias|View|UnsafeView|ReshapeAlias|Squeeze|Unsqueeze|Stack|Cat|Transpose|T|Permute)Backward\d"
)
"""Nodes that hand a gradient of ones on as ones: below them a loss may leave out grad_output, for it is 1."""


def newly_scaled(nodes: Sequence[Node], new: list[Node], already_scaled: set[int]) -> list[Node]:
    """The nodes to which some way leads through an op that makes of a gradient of ones another one.

    Those that do so since a run has those ``new`` nodes: the others are ``already_scaled``, which grows. What the nodes of an op
    make that none of them was looked at is not known.
    """
    newly_scaled: list[int] = []
    todo = [node for node in new if node.met and not _UNIT.match(node.name)]
    while todo:
        for index, _ in todo.pop().edges:
            if index not in already_scaled:
                already_scaled.add(index)
                newly_scaled.append(index)
                todo.append(nodes[index])
    return [nodes[index] for index in sorted(newly_scaled)]


def returned_nothing(analysis: Analysis, node: Node) -> bool:
    """Whether it said None for every input: that there is no derivative, which is another matter."""
    return any(len(missing) >= len(node.edges) for missing in analysis.capture.none_gradients_of.get(node.seq, ()))
