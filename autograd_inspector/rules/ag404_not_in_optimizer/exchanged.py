"""AG404 where a group of the optimizer got another parameter in the place of the model's."""

from __future__ import annotations

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.exchanged import Exchanged
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.wording import agree, summarize_names


def problem(analysis: Analysis, optimizer: OptimizerRecord, found: list[Exchanged]) -> Problem:
    """One finding for all that the optimizer lost in that way."""
    names = names_of(analysis, [each.old for each in found])
    first = found[0]
    made = next(iter(analysis.lifecycle.made_at(first.new)), -1)
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'gets', 'get')} gradients but {agree(names, 'is', 'are')} no longer in "
        f"any optimizer: its group in {optimizer.type} holds another parameter in its place, which no backward() reaches",
        "Give the model the parameter that the group holds: `model.weight = new_parameter`. An assignment to `.data` and "
        "`copy_()` only copy its values, and the two stay different parameters.",
        analysis.places(
            (first.copied, "only the values copied here"),
            (made if made >= 0 else None, "other parameter created here"),
            (first.since, "the optimizer steps the other one since"),
        ),
        tuple(names),
        ops=() if first.copied is None else (first.copied.index,),
    )
