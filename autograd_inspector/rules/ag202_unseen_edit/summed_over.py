"""AG202 where ranks sum, in place, what backward needs as this rank had computed it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.saved_tensors import saved_name, saver_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.saved_tensors import on_ctx
from autograd_inspector.model.autograd import Node, SavedTensor
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import Communicated

_IN_PLACE = "all_reduce"


def summed_over(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that sums so; no collective of torch's moves a version counter.

    Nothing of weights and buffers: ranks may hold the same there, or go on with the mean on purpose.
    """
    calls = _calls(analysis)
    told: set[int] = set()
    for place, run in enumerate(analysis.run_graphs.runs) if calls else ():
        for node in analysis.run_graphs.whole(place):
            for saved in node.saved if node.op >= 0 else ():
                call = next((c for c in calls.get(saved.storage, ()) if node.op < c.at < run.start), None)
                if call is None or call.site in told or not _needed(analysis, call, saved):
                    continue
                told.add(call.site)
                yield _problem(analysis, node, saved, call, run.site)


def _calls(analysis: Analysis) -> dict[int, list[Communicated]]:
    """Memory -> the calls that sum it over ranks in place: of what autograd has computed, not of gradients."""
    capture, calls = analysis.capture, dict[int, list[Communicated]]()
    computed = {tensor.storage for tensor in capture.tensors if tensor.requires_grad and not tensor.leaf}
    for call in analysis.reductions.exchanges.calls:
        sums = call.name == _IN_PLACE and call.op in {"sum", "avg"} and not call.failed and not call.results
        for tensor in call.tensors if sums and is_a(call.name, OpKind.REDUCES_RANKS) else ():
            storage = capture.tensors[tensor].storage
            if storage >= 0 and storage in computed and storage not in capture.stored:
                calls.setdefault(storage, []).append(call)
    return calls


def _needed(analysis: Analysis, call: Communicated, saved: SavedTensor) -> bool:
    if saved.status != "valid" or saved.unused or on_ctx(saved):
        return False
    targets = [analysis.capture.tensors[tensor] for tensor in call.tensors]
    return any(
        target.storage == saved.storage
        and target.offset < saved.offset + saved.extent
        and saved.offset < target.offset + target.extent
        for target in targets
    )


def _problem(analysis: Analysis, node: Node, saved: SavedTensor, call: Communicated, run: int) -> Problem:
    name, saver = saved_name(analysis, node, saved), analysis.capture.ops[node.op]
    return Problem(
        "error",
        f"{name} was saved for backward by {saver_name(analysis, node)}, and {call.name} then replaced it in place with the sum over "
        f"{call.world} ranks without changing its version counter: the gradient is computed with the sum instead of this "
        "rank's own values",
        f"Call {call.name} on a copy of it: `.clone()`.",
        analysis.places((call, "summed here"), (saver, "saved here"), (run, "used by this backward")),
        (name, saver.name, call.name),
        ops=(node.op, call.at),
    )
