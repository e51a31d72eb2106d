"""AG404 where an optimizer steps copies of a model's parameters, and the model never gets their new values."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.undelivered import Undelivered, undelivered
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.rewrites import WriteBack
from autograd_inspector.model.wording import agree, summarize_names


def copies_alone_move(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer of copies."""
    for found in undelivered(analysis):
        names = names_of(analysis, found.parameters)
        last = found.steps[-1]
        optimizer = analysis.capture.placement.optimizers[last.optimizer]
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} in no optimizer and never {agree(names, 'changes', 'change')}: "
            f"{variable(analysis, optimizer)}.step() updates copies that are given {agree(names, 'its', 'their')} gradients, and "
            "nothing copies the new values back",
            "Copy the new values into the model after each step, under torch.no_grad(): `p.copy_(copy)`.",
            analysis.places(
                (last, "only the copies are updated here"), (optimizer, "optimizer of the copies created here")
            ),
            tuple(names),
            ops=(last.op,),
            cures=tuple(_cures(analysis, found)),
        )


def _cures(analysis: Analysis, found: Undelivered) -> Iterator[Remedies]:
    """The loop that gives the copies their gradients, the other way round, after each step."""
    copies = set(found.copies)
    given = next((w for w in reversed(analysis.capture.grad_writes) if w.tensor in copies and w.gradient >= 0), None)
    pair = meeting(analysis, given.site, found.steps[-1].site) if given is not None else None
    if pair is not None:
        yield (WriteBack(*pair),)
