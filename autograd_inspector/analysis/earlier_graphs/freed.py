"""Which backward freed a graph, and what led back into it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.carried_over import carried_over
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.graphs import RunGraphs
from autograd_inspector.model.op import Op


def is_written_again(analysis: Analysis, tensor: int, freed_by: Backward, run: Backward) -> bool:
    """Whether the round that failed wrote to it as well: data, which each round gives its graph."""
    storage = analysis.capture.tensors[tensor].storage
    return any(op.recorded for op, _ in analysis.writes_to(storage, tensor, freed_by.end, run.start))


def parts_of(analysis: Analysis, made: Op | None) -> list[Op]:
    """Where the carried tensor is a part of something (`h = context[0]`), the op that computed the whole.

    Where it was put together, what computed the first of its parts.
    """
    base = made
    while base is not None and is_a(base.name, _PARTS) and base.inputs:
        base = analysis.flow.birth(base.inputs[0])
    return [] if base is None or base is made else [base]


_PARTS = OpKind.VIEWS | OpKind.CONCATENATES | OpKind.STACKS


def _freer(analysis: Analysis, made: Op, run: Backward) -> Backward | None:
    """The backward that ran through what the op made, and kept nothing of it."""
    later = [r for r in analysis.capture.backwards[: run.index] if r.end > made.index and not r.error]
    freeing = RunGraphs(analysis.capture.nodes, (r for r in later if not r.retain_graph))
    through = (r for r, new in freeing if any(node.op == made.index for node in new))
    return next(chain(through, later), None)


def last_freer(analysis: Analysis, run: Backward, earlier: Sequence[Backward]) -> Backward:
    """The last backward that can have freed what the failed one met: one in between may have kept its graph."""
    met = {node.seq for node in analysis.nodes_of(run) if not node.leaf}
    freeing = (r for r in reversed(earlier) if not r.retain_graph)
    through = (r for r in freeing if any(node.seq in met and not node.leaf for node in analysis.nodes_of(r)))
    return next(through, earlier[-1])


def carried_graph(analysis: Analysis, run: Backward, last: Backward) -> tuple[Op, int, Backward] | None:
    """(the op that read it, the tensor, the backward that freed it): graph from before an earlier backward."""
    carried = carried_over(analysis.capture, analysis.flow, run, last)
    if carried is None:
        return None
    made = analysis.flow.birth(carried[1])
    return *carried, (_freer(analysis, made, run) if made is not None else None) or last
