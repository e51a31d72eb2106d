"""AG413: learning rates of the groups that a scheduler overwrites with one for all when it is made."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.levelled_rates import levelled_rates
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import join_names, summarize_names


def levelled(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each scheduler."""
    for found in levelled_rates(analysis):
        made, names = found.made, names_of(analysis, found.moved)
        given = join_names([f"{rate:.3g}" for rate in made.given], 4)
        moves = f": step() moves {summarize_names(names)}, which had lr 0" if names else ""
        yield Problem(
            "warning",
            f"the groups of {found.optimizer.type} were given different learning rates ({given}), and {made.type} overwrote "
            f"them with {made.rates[0]:.3g} for all groups{moves}",
            f"Give {made.type} one value for each group, in the order of the groups, as in `max_lr=[...]`.",
            analysis.places(
                (made, "learning rates overwritten here"),
                (found.optimizer, "optimizer created here, with learning rates of the groups"),
                (found.step, "step() called here, with the scheduler's lr"),
            ),
            ("lr", made.type, *names),
            ops=(found.step.op,),
        )
