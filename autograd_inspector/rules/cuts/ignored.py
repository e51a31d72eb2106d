"""AG108: custom autograd.Functions whose backward does not use the gradient that it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Trait
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique

_UNIT = re.compile(
    r"(Add|Sum|Clone|Alias|View|UnsafeView|ReshapeAlias|Squeeze|Unsqueeze|Stack|Cat|Transpose|T|Permute)Backward\d"
)
"""Nodes that hand a gradient of ones on as ones: below them a loss may leave out grad_output, for it is 1."""


def ignoring(facts: Facts) -> Iterator[Finding]:
    """Each such Function once, where what it leaves out is more than the 1 that backward starts with."""
    blind, told = facts.capture.blind_functions, set()
    scaled: set[int] = set()
    for run, new in facts.shared if blind else ():
        for node in _scaled(facts.capture.nodes, new, scaled):
            op = facts.capture.ops[node.op] if node.op >= 0 else None
            if op is None or not op.has(Trait.FUNCTION):
                continue
            name = op.name.removesuffix(".apply")
            if name in blind and name not in told and not _returned_nothing(facts, node):
                told.add(name)
                yield _finding(facts, run, node, name)


def _scaled(nodes: Sequence[Node], new: list[Node], known: set[int]) -> list[Node]:
    """The nodes to which some way leads through an op that makes of a gradient of ones another one.

    Those that do so since a run has those ``new`` nodes: the others are ``known``, which grows. What the nodes of an op
    make that none of them was looked at is not known.
    """
    found: list[int] = []
    todo = [node for node in new if node.met and not _UNIT.match(node.name)]
    while todo:
        for index, _ in todo.pop().edges:
            if index not in known:
                known.add(index)
                found.append(index)
                todo.append(nodes[index])
    return [nodes[index] for index in sorted(found)]


def _returned_nothing(facts: Facts, node: Node) -> bool:
    """Whether it said None for every input: that there is no derivative, which is another matter."""
    gaps = [gap.missing for gap in facts.capture.gaps if gap.seq == node.seq]
    return any(len(missing) >= len(node.edges) for missing in gaps)


def _finding(facts: Facts, run: Backward, node: Node, name: str) -> Finding:
    op = facts.capture.ops[node.op]
    below = sorted(facts.leaves_below(node))
    learning = [t for t in below if t in facts.capture.optimized] or below
    names = [facts.name(t) for t in learning]
    return Finding(
        "AG108",
        "custom-function",
        "error",
        f"{name}.backward never uses the gradient that it is given, so the gradient of {folded(names)} is that of "
        "another loss: what comes after it counts for nothing",
        f"Multiply by it (the chain rule): `return grad_output * ...` in {name}.backward.",
        unique(
            [
                *facts.chain(facts.capture.function_sites.get(name, -1), "backward leaves it out here"),
                *facts.chain(op.site, "applied here"),
                *facts.chain(run.site, "backward called here"),
            ]
        ),
        (name, *dict.fromkeys(names)),
        ops=(op.index,),
    )
