"""AG501 where a write in place put the graph into a tensor that all rounds share: a bank of features, a buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.operands import operand
from autograd_inspector.advice.remedies.graphs import stored_without_graph
from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.carried_over import written_over
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies, Substitute
from autograd_inspector.rules.ag501_graph_freed.shared_graph import backwards, stepped_between


def written_graph(analysis: Analysis, run: Backward, earlier: Sequence[Backward]) -> Problem | None:
    """The finding, where the later round read what an earlier one had written with its graph."""
    found = written_over(analysis.capture, analysis.flow, run, earlier[-1])
    if found is None:
        return None
    reader, tensor, given = found
    write, value = given.write, given.value
    freed_by = next((other for other in earlier if other.start > write.index), earlier[-1])
    if not stepped_between(analysis, freed_by, run) and freed_by.site != run.site:
        return None  # Two losses of one round: the graph is to be kept, or the losses are to be summed.
    if not _learns_otherwise(analysis, freed_by, write, value):
        return None
    name, stored = name_of(analysis, tensor), name_of(analysis, value)
    text = operand(analysis, write, value) or (stored if assignable(stored, analysis, value) else "")
    code = f"`{text}.detach()` into {name}" if text else f"{stored} into {name} without its graph: call detach() on it"
    return Problem(
        "error",
        f"`{write.name}` writes {stored} with its graph into {name}, which keeps it for later iterations: `{reader.name}` "
        "reads it after a backward() has freed that graph, and this backward() runs through it a second time",
        f"Write {code}, or write under torch.no_grad().",
        (
            *analysis.places((write, "written with its graph here"), (reader, "used again here")),
            *backwards(analysis, freed_by, run),
        ),
        (name, stored),
        ops=(write.index, reader.index),
        cures=tuple(_cures(analysis, write, text)),
    )


def _learns_otherwise(analysis: Analysis, run: Backward, write: Op, value: int) -> bool:
    """Whether all that learns through what is written learns from that round's loss by other ways as well."""
    made = analysis.flow.birth(value)
    behind = () if made is None else Leaves(analysis.capture, analysis.flow).above(made)
    others = analysis.flow.upstream([(root, run.start) for root in run.roots], lambda op, _: op is not write)
    read = {tensor for op, _ in others if op is not write for tensor in op.inputs}
    return read.issuperset(analysis.capture.optimized.intersection(behind))


def _cures(analysis: Analysis, write: Op, text: str) -> Iterator[Remedies]:
    """The value has no history where it is written."""
    place = analysis.capture.place(write.site)
    if write.name == "__setitem__":
        yield from stored_without_graph(analysis, write.site)
    elif place is not None and text:
        yield (Substitute(place, text, "{}.detach()"),)
