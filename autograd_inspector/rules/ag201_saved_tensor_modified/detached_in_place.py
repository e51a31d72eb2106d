"""AG201 where `detach_()` took the history from a tensor that autograd had saved: backward cannot use it any more."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.advice.saved_tensors import saver_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import agree, join_names


def detached_in_place(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that detached what a failed backward needed."""
    for run in analysis.capture.backwards:
        if not says(run.error, TorchError.DETACHED_IN_PLACE):
            continue
        by_site: dict[int, list[tuple[Op, Node]]] = {}
        for op, node in _detached(analysis, run):
            by_site.setdefault(op.site, []).append((op, node))
        yield from (_problem(analysis, run, found) for found in by_site.values())


def _detached(analysis: Analysis, run: Backward) -> Iterator[tuple[Op, Node]]:
    """(the call that detached, the first node that had saved the tensor)."""
    savers: dict[int, Node] = {}
    for node in analysis.nodes_of(run):
        for saved in node.saved:
            if saved.tensor >= 0:
                savers.setdefault(saved.tensor, node)
    for op in analysis.capture.ops[: run.end]:
        if is_a(op.name, OpKind.DETACHES) and is_a(op.name, OpKind.IN_PLACE_ONLY):
            met = [savers[tensor] for tensor in op.inputs if tensor in savers]
            yield from ((op, node) for node in met[:1] if node.op < op.index)


def _problem(analysis: Analysis, run: Backward, found: list[tuple[Op, Node]]) -> Problem:
    names = list(dict.fromkeys(name for op, _ in found for name in names_of(analysis, op.inputs)))
    op, node = found[0]
    place = analysis.capture.place(op.site)
    return Problem(
        "error",
        f"`detach_()` takes the history from {join_names(names, 3)} {agree(names, 'itself', 'themselves')}, after "
        f"{saver_name(analysis, node)} had saved {agree(names, 'it', 'one of them')} for backward",
        "Use `detach()`, which returns a new tensor and leaves the old one in its graph.",
        analysis.places(
            (op, "detached in place here"),
            (analysis.capture.ops[node.op] if node.op >= 0 else None, "saved here"),
            (run, "needed here"),
        ),
        (*names, "detach_"),
        ops=tuple(each.index for each, _ in found[:16]),
        cures=((out_of_place(analysis, op, place),),) if place is not None else (),
    )
