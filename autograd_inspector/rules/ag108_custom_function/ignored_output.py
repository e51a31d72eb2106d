"""AG108: custom autograd.Functions of several outputs whose backward uses the gradients of some of them alone."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag108_custom_function.partly_none import deciding_sites


def ignoring_an_output(analysis: Analysis) -> Iterator[Problem]:
    """Each such output of a Function once, where a loss depends on it: autograd then has an edge to that output."""
    capture, told = analysis.capture, set[tuple[str, int]]()
    ignored = capture.ignored_gradients
    for run, new in analysis.run_graphs if ignored else ():
        for child, output in (edge for node in new if node.met for edge in node.edges):
            node = capture.nodes[child]
            op = capture.op_of(node)
            name = op.name.removesuffix(".apply") if op is not None and op.has(Trait.FUNCTION) else ""
            if output in ignored.get(name, ()) and (name, output) not in told:
                told.add((name, output))
                yield from _finding(analysis, run, node, name, output)


def _finding(analysis: Analysis, run: Backward, node: Node, name: str, output: int) -> Iterator[Problem]:
    capture, op = analysis.capture, analysis.capture.ops[node.op]
    names = names_of(analysis, sorted(analysis.leaves_below(node) & analysis.learning))
    if not names:
        return
    sites = capture.gradient_sites.get(name, ())
    yield Problem(
        "warning",
        f"{name}.backward ignores the gradient of output {output + 1}: {summarize_names(names)} {agree(names, 'learns', 'learn')} "
        "nothing from the part of the loss that is computed from this output",
        f"Add what the gradient of output {output + 1} contributes to the gradients that {name}.backward returns.",
        analysis.places(
            *((site, "returned without it here") for site in deciding_sites(analysis, name, range(len(sites)))),
            (capture.function_sites.get(name, -1), "backward is defined here"),
            (op, "applied here"),
            (run, "backward called here"),
        ),
        (name, *names),
        ops=(op.index,),
    )
