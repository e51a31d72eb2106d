"""AG601 where ranks exchange weights instead of gradients, and what each has learned is lost or counted too often."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.weights import steps_overwritten, weights_summed
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def weights_exchanged(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that sums weights, or overwrites what this rank has learned."""
    for found in weights_summed(analysis.capture, analysis.reductions):
        call, names = found.call, names_of(analysis, _own(analysis, found.tensors))
        yield Problem(
            "warning",
            f"{call.name} sums {summarize_names(names)} over {call.world} ranks, and nothing divides the "
            f"{agree(names, 'sum', 'sums')}: training continues with weights {call.world} times as large",
            f"Divide by the number of ranks after {call.name}: `p.data /= dist.get_world_size()`.",
            analysis.places((call, "weights summed here"), (found.reached.step, "step() called here")),
            tuple(names),
            ops=(call.at,),
        )
    for found in steps_overwritten(analysis.capture, analysis.reductions):
        call, names = found.call, names_of(analysis, _own(analysis, found.tensors))
        yield Problem(
            "warning",
            f"{call.name} replaces {summarize_names(names)} with the weights of rank {call.peer} after each step: what rank "
            f"{analysis.capture.rank} learns from its own data is lost, for no gradient of it is reduced",
            "Reduce the gradients before step(), and every rank makes the same step: `dist.all_reduce(p.grad)`, then "
            "`p.grad /= dist.get_world_size()`. Broadcast the weights once, before training.",
            analysis.places((call, "weights replaced here"), (found.reached.step, "step() called here")),
            tuple(names),
            ops=(call.at, found.reached.step.op),
        )


def _own(analysis: Analysis, tensors: tuple[int, ...]) -> list[int]:
    """The parameters whose memory was given to a call, themselves or as ``p.data``."""
    storage = analysis.reductions.exchanges.storage
    memory = set(map(storage, tensors))
    held = (p.tensor for step in analysis.capture.steps for p in step.parameters)
    return [tensor for tensor in dict.fromkeys(held) if storage(tensor) in memory]
