"""AG305: a loop that computes losses, and neither backpropagates them nor steps the optimizer that was made for them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.losses_without_backward import losses, read_out
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.wording import agree, join_names, summarize_names


def never_stepped(analysis: Analysis) -> Iterator[Problem]:
    """A hint: who looks at losses with an optimizer at hand need not train yet."""
    capture = analysis.capture
    if capture.steps or capture.error or any(run.api == "backward" for run in capture.backwards):
        return
    optimizers = [each for each in capture.placement.optimizers if each.created_at >= 0] if capture.ops else []
    held = {tensor for optimizer in optimizers for tensor in optimizer.held}
    # Of what is computed equally often, a number that is only printed is not the loss.
    rounds = max(
        grouped(
            losses(capture, analysis.optimized_trainable & held, 0, len(capture.ops)) if held else (),
            lambda op: op.site,
        ).values(),
        key=lambda ops: (len(ops), not read_out(capture, ops[-1]), ops[-1].index),
        default=[],
    )
    if len(rounds) > 1:
        yield _problem(analysis, optimizers, rounds)


def _problem(analysis: Analysis, optimizers: list[OptimizerRecord], rounds: list[Op]) -> Problem:
    names = names_of(analysis, (tensor for optimizer in optimizers for tensor in optimizer.held))
    kinds = list(dict.fromkeys(optimizer.type for optimizer in optimizers))
    return Problem(
        "info",
        f"{len(rounds)} losses are computed one after the other, and backward() is called on none of them: "
        f"{join_names(kinds)}, which {agree(kinds, 'holds', 'hold')} {summarize_names(names)}, never "
        f"{agree(kinds, 'steps', 'step')}",
        f"To train, call backward() on the loss and {variable(analysis, optimizers[0])}.step() (in Lightning, with "
        "automatic_optimization = False: self.manual_backward(loss) and step()); for evaluation only, compute it under torch.no_grad().",
        analysis.places(
            (rounds[-1], "no backward() from this loss"), *((each, "optimizer made here") for each in optimizers)
        ),
        tuple(names),
        ops=tuple(op.index for op in rounds[:4]),
    )
