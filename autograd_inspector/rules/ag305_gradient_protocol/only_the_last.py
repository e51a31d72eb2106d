"""AG305 where a loop computes several losses for one step, and backward() runs from the last of them alone."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.only_the_last import losses_of_one_step, starved_without
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Again, Remedies, Remove
from autograd_inspector.model.rewrites import AddInPlace
from autograd_inspector.model.wording import agree, summarize_names


def only_the_last(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each statement that makes the same number of losses in all rounds, of which the last one is used.

    Where a round drops as many as its data want (a loss that is NaN, or small enough), another drops none.
    """
    for ops in losses_of_one_step(analysis):
        last = ops[-1]
        variable = next((name for t in last.outputs if (name := analysis.capture.tensors[t].variable)), "the loss")
        names = names_of(analysis, last.outputs)
        run = next(run for run in analysis.timeline.runs.since(last.index) if set(run.roots) & set(last.outputs))
        before = len(ops) - 1
        unserved = names_of(analysis, starved_without(analysis, ops[:-1], run))
        starved = (
            f"; {summarize_names(unserved)} {agree(unserved, 'gets', 'get')} no gradient at all" if unserved else ""
        )
        yield Problem(
            "warning",
            f"{variable} is computed {len(ops)} times for each step, and backward() runs only from the last one: the "
            f"{before} before {agree(ops[1:], 'is', 'are')} dropped with {agree(ops[1:], 'its graph', 'their graphs')}, and "
            f"{agree(ops[1:], 'adds', 'add')} nothing to any gradient{starved}",
            "Call backward() for each of them before the step, or add them up (`total = total + loss`) and call it on the sum.",
            analysis.places((last, "computed again here"), (run, "backward of the last one")),
            (*names, *unserved),
            (f"{summarize_names(names)}: nothing else reads the earlier results of this line in the same iteration.",),
            tuple(op.index for op in ops),
            tuple(_added(analysis, last, run)),
        )


def _added(analysis: Analysis, loss: Op, run: Backward) -> Iterator[Remedies]:
    """The losses are added up, and the one backward() runs from their sum; or each has a backward() of its own."""
    pair = meeting(analysis, loss.site, run.site)
    if pair is not None:
        yield (AddInPlace(*pair),)
        yield Remove(pair[1]), Again(pair[1], pair[0], "behind")
