"""AG406: an optimizer that goes on stepping although everything that it holds was frozen, and stays so."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.thawed import thawed_before
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.analysis.optimizers.frozen_while_stepping import frozen_while_stepping
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.turns_in_vain import turns_in_vain
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.wording import agree, summarize_names


def frozen_for_good(analysis: Analysis) -> Iterator[Problem]:
    """A discriminator that is frozen for the generator's turn, and not unfrozen for its own."""
    for found in frozen_while_stepping(analysis):
        names = names_of(analysis, found.optimizer.held)
        them, count = agree(names, "it", "them"), len(found.steps)
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen and never unfrozen, so the last {count} steps of "
            f"{variable(analysis, found.optimizer)} update nothing: no parameter that it holds requires grad",
            f"Call requires_grad_(True) on {them} before the loss that trains {them} is computed; or remove the step() calls "
            "after which nothing moves.",
            (
                *frozen_here(analysis, found.optimizer.held),
                *analysis.places((found.steps[-1], "step() updates nothing here")),
            ),
            tuple(names),
            ops=(found.steps[-1].op,),
            cures=tuple(_frozen_for_the_turn(analysis, found.optimizer)),
        )


def _frozen_for_the_turn(analysis: Analysis, optimizer: OptimizerRecord) -> Iterator[Remedies]:
    """They require grad again before the first that reads them once another optimizer's turn is over."""
    frozen = analysis.lifecycle.frozen(optimizer.held)
    since = frozen[0].at if frozen else -1
    turn = next((s for s in analysis.capture.steps if s.at > since and s.optimizer != optimizer.id), None)
    readers = analysis.capture.readers
    later = [at for t in optimizer.held for at in readers.get(t, ()) if turn is not None and at > turn.at]
    if frozen and later:
        yield from thawed_before(analysis, frozen[0].site, analysis.capture.ops[min(later)].site)


def frozen_in_its_turn(analysis: Analysis) -> Iterator[Problem]:
    """A penalty on the discriminator that is computed before it is unfrozen for its own turn."""
    for_good = {found.optimizer.id for found in frozen_while_stepping(analysis)}
    for found in turns_in_vain(analysis):
        if found.optimizer.id in for_good:
            continue
        names = names_of(analysis, found.optimizer.held)
        them, reached = agree(names, "it", "them"), names_of(analysis, found.run.reached)
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} frozen while the loss is computed whose backward() comes before "
            f"this step() of {variable(analysis, found.optimizer)}, so the step updates nothing: backward() only reaches "
            f"{summarize_names(reached)}, which no optimizer holds",
            f"Call requires_grad_(True) on {them} before the loss that trains {them} is computed; or remove the step() calls "
            "after which nothing moves.",
            analysis.places(
                (found.frozen, "frozen here"),
                (found.used, "used here, frozen"),
                (found.run, "backward called here"),
                (found.step, "step() updates nothing here"),
            ),
            tuple(names),
            ops=(found.step.op,),
            cures=tuple(thawed_before(analysis, found.frozen.site, found.used.site)),
        )
