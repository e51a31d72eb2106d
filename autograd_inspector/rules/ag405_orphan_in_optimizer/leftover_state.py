"""AG405 where an optimizer's groups let a parameter go and its state stayed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.totals import bytes_of
from autograd_inspector.model.wording import agree, summarize_names


def state_left(analysis: Analysis) -> Iterator[Problem]:
    """State of parameters that no group holds; of those that a model still has it may wait for their return.

    What learns and was to take the place of another one in a group has its state already: that place is told.
    """
    loose = analysis.unoptimized
    held_once = {p.tensor for step in analysis.capture.steps for p in step.parameters}
    replacing = analysis.received_gradient - held_once if loose is not None and loose.orphans else frozenset()
    for optimizer in analysis.capture.placement.optimizers:
        own = analysis.capture.placement.rows_of.get(optimizer.id, ())
        rows = [row for row in own if row.group < 0 and row.state and row.tensor not in replacing]
        gone = [row for row in rows if not row.model]
        if not rows:
            continue
        names = [row.name for row in gone or rows]
        name = variable(analysis, optimizer)
        yield Problem(
            "warning" if gone else "info",
            f"{optimizer.type} keeps state ({bytes_of(gone or rows).state:,} bytes) of {summarize_names(names)}, which "
            f"{agree(names, 'is', 'are')} no longer in any of its groups{' or in any model' if gone else ''}: replacement "
            "parameters start without state",
            "Rebuild the optimizer, or drop the leftover state: "
            f'`for p in set({name}.state) - {{p for g in {name}.param_groups for p in g["params"]}}: {name}.state.pop(p)`.',
            analysis.user_frames(optimizer.site, "optimizer created here"),
            tuple(names),
        )
