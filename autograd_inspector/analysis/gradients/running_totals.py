"""Sums of losses that grow, and are differentiated again with each new term: what is in them already counts once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.op_kinds import OpKind, node_is_a
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.event import Step


class RunningTotal(Struct, frozen=True):
    """Each of ``runs`` began at the sum that the one before it began at, and new terms; ``step`` uses what all added."""

    runs: tuple[Backward, ...]
    step: Step
    tensors: tuple[int, ...]


def running_totals(analysis: Analysis, sources: GradientSources) -> Iterator[RunningTotal]:
    """The first of each line that differentiates."""
    nodes = analysis.capture.nodes
    told: set[int] = set()
    for step in analysis.capture.steps:
        chains: dict[tuple[int, ...], tuple[tuple[Backward, ...], list[int]]] = {}
        for consumed in () if step.error else sources.of(step):
            runs = [contribution.run for contribution in consumed.contributions]
            chain = runs[:1]
            for run in runs[1:]:
                if not _goes_on(nodes, chain[-1], run):
                    break
                chain.append(run)
            if len(chain) > 1 and chain[-1].site not in told:
                chains.setdefault(tuple(run.index for run in chain), (tuple(chain), []))[1].append(consumed.tensor)
        for chain_of_runs, tensors in chains.values():
            told.add(chain_of_runs[-1].site)
            yield RunningTotal(chain_of_runs, step, tuple(tensors))


def _goes_on(nodes: Sequence[Node], first: Backward, second: Backward) -> bool:
    """Whether the second began at a sum one term of which is what the first began at."""
    if len(first.graph.roots) != 1 or first.weights != second.weights:
        return False
    root, todo = first.graph.roots[0], list(second.graph.roots)
    met = set(todo)
    while todo and root not in met:
        node = nodes[todo.pop()]
        for child, _ in node.edges if node_is_a(node.name, OpKind.ADDS) else ():
            if child not in met:
                met.add(child)
                todo.append(child)
    return root in met and root not in second.graph.roots
