"""AG108: custom autograd.Functions whose backward does not use the gradient that it is given."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.scaled_nodes import newly_scaled, returned_nothing
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.remedy import ChainRule
from autograd_inspector.model.wording import agree, summarize_names


def ignoring(analysis: Analysis) -> Iterator[Problem]:
    """Each such Function once, where what it leaves out is more than the 1 that backward starts with."""
    blind, reported_names = analysis.capture.blind_functions, set()
    scaled: set[int] = set()
    for run, new in analysis.run_graphs if blind else ():
        for node in newly_scaled(analysis.capture.nodes, new, scaled):
            op = analysis.capture.op_of(node)
            if op is None or not op.has(Trait.FUNCTION):
                continue
            name = op.name.removesuffix(".apply")
            if name in blind and name not in reported_names and not returned_nothing(analysis, node):
                reported_names.add(name)
                yield _finding(analysis, run, node, name)


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
