"""AG601 where a call carries gradients between ranks, and does not leave the same mean on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reached
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import Communicated
from autograd_inspector.model.wording import agree, summarize_names

How = Literal["unwaited", "to one", "from one", "by another op"]


def carried_wrongly(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line and way."""
    found: dict[tuple[How, int], tuple[Communicated, Reached, list[int]]] = {}
    for reached in analysis.reductions.reached:
        for tensor in reached.reduced:
            if tensor in analysis.reductions.wrapper_of or analysis.reductions.averaged(tensor):
                continue
            calls = analysis.reductions.on_the_way(tensor, reached)
            how = _how(analysis, calls, reached)
            if how == "to one" and _sent_back(analysis, tensor, reached):
                continue
            if how is not None:
                found.setdefault((how, calls[-1].site), (calls[-1], reached, []))[2].append(tensor)
    for (how, _), (call, reached, tensors) in found.items():
        yield _problem(analysis, how, call, reached, list(dict.fromkeys(tensors)))


def _how(analysis: Analysis, calls: list[Communicated], reached: Reached) -> How | None:
    if not calls:
        return None  # They went in a flat copy, or what came back was assigned.
    if any(not analysis.reductions.awaited(call, reached.step.updates_from) for call in calls):
        return "unwaited"
    names = {call.name for call in calls}
    if all(is_a(name, OpKind.TO_ONE_RANK) for name in names):
        return "to one"
    if names == {"broadcast"}:
        return "from one"
    if all(call.op and call.op not in {"sum", "avg"} for call in calls):
        return "by another op"
    return None


def _sent_back(analysis: Analysis, tensor: int, reached: Reached) -> bool:
    """Whether a gradient meets what other calls carry as well: the rank that has the sum sends it to the others."""
    exchanges, end = analysis.reductions.exchanges, reached.step.updates_from
    others = {e.at for e in exchanges.within(reached.run.start, end) if not is_a(e.name, OpKind.TO_ONE_RANK)}
    carried = exchanges.carried(reached.run.start, end, of=others) if others else {}
    return any(exchanges.storage(gradient) in carried for gradient in analysis.reductions.gradients(tensor))


def _problem(analysis: Analysis, how: How, call: Communicated, reached: Reached, tensors: list[int]) -> Problem:
    names = names_of(analysis, tensors)
    subject = f"the {agree(names, 'gradient', 'gradients')} of {summarize_names(names)}"
    message, fix = {
        "unwaited": (
            f"step() uses {subject} while {call.name} may still be running: it was started with async_op=True, and nothing "
            "waits for it before step()",
            "Keep the returned work handles and call `work.wait()` on each before step(), or remove async_op.",
        ),
        "to one": (
            f"{call.name} collects {subject} on one rank only; the other ranks step with their local values, so the replicas "
            "diverge",
            "Call all_reduce instead: it leaves the sum on every rank. Or broadcast the result before step().",
        ),
        "from one": (
            f"broadcast replaces {subject} with the values of one rank: the values of the other ranks are lost, and several "
            "machines do the work of one",
            "Call all_reduce instead, and divide by the number of ranks.",
        ),
        "by another op": (
            f"{call.name} combines {subject} with {call.op}; the result is not the gradient of any loss over all ranks",
            "Call it with `op=dist.ReduceOp.SUM`, and divide by the number of ranks.",
        ),
    }[how]
    return Problem(
        "warning" if how in {"from one", "by another op"} else "error",
        message,
        fix,
        analysis.places((call, f"{call.name} called here"), (reached.step, "step() called here")),
        tuple(names),
        ops=(call.at, reached.step.op),
    )
