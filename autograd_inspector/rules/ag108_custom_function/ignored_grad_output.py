"""AG108: custom autograd.Functions whose backward does not use the gradient that it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.remedy import ChainRule
from autograd_inspector.model.wording import agree, summarize_names

_UNIT = re.compile(
    r"(Add|Sum|Clone|Alias|View|UnsafeView|ReshapeAlias|Squeeze|Unsqueeze|Stack|Cat|Transpose|T|Permute)Backward\d"
)
"""Nodes that hand a gradient of ones on as ones: below them a loss may leave out grad_output, for it is 1."""


def ignoring(analysis: Analysis) -> Iterator[Problem]:
    """Each such Function once, where what it leaves out is more than the 1 that backward starts with."""
    blind, reported_names = analysis.capture.blind_functions, set()
    scaled: set[int] = set()
    for run, new in analysis.run_graphs if blind else ():
        for node in _scaled(analysis.capture.nodes, new, scaled):
            op = analysis.capture.op_of(node)
            if op is None or not op.has(Trait.FUNCTION):
                continue
            name = op.name.removesuffix(".apply")
            if name in blind and name not in reported_names and not _returned_nothing(analysis, node):
                reported_names.add(name)
                yield _finding(analysis, run, node, name)


def _scaled(nodes: Sequence[Node], new: list[Node], already_scaled: set[int]) -> list[Node]:
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


def _returned_nothing(analysis: Analysis, node: Node) -> bool:
    """Whether it said None for every input: that there is no derivative, which is another matter."""
    return any(len(missing) >= len(node.edges) for missing in analysis.capture.none_gradients_of.get(node.seq, ()))


def _finding(analysis: Analysis, run: Backward, node: Node, name: str) -> Problem:
    op = analysis.capture.ops[node.op]
    below = sorted(analysis.leaves_below(node))
    learning = [t for t in below if t in analysis.capture.optimized] or below
    names = [name_of(analysis, t) for t in learning]
    return Problem(
        "error",
        f"{name}.backward ignores grad_output, so {summarize_names(names)} {agree(names, 'gets', 'get')} a gradient that "
        "does not depend on the rest of the network",
        f"Multiply by it (the chain rule): `return grad_output * ...` in {name}.backward.",
        analysis.places(
            (analysis.capture.function_sites.get(name, -1), "backward ignores it here"),
            (op, "applied here"),
            (run, "backward called here"),
        ),
        (name, *dict.fromkeys(names)),
        ops=(op.index,),
        cures=at_line(analysis, analysis.capture.function_sites.get(name, -1), ChainRule),
    )
