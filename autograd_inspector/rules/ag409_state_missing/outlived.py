"""AG409 where the saved values are put back and the state that was saved beside them is not."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.outlived_state import outlived_states
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, counted, join_names, summarize_names


def never_put_back(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer."""
    capture = analysis.capture
    for found in outlived_states(analysis):
        optimizer = capture.placement.optimizers[found.optimizer]
        names = names_of(analysis, found.tensors)
        rows = capture.placement.rows_of.get(optimizer.id, ())
        entries = list(dict.fromkeys(entry.name for row in rows for entry in row.state))
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'has', 'have')} the values from before {counted(found.undone, 'step')} of {optimizer.type} again, but "
            f"{optimizer.type} continues with the state of {agree(found.undone, 'that step', 'those steps')} "
            f"({join_names(entries)}): its state_dict() was saved with these values and is not loaded",
            f"Also load the saved state, before the next step: `{variable(analysis, optimizer)}.load_state_dict(...)`.",
            analysis.places(
                (found.restored, "values restored here"),
                (found.saved, "state saved here"),
                (found.following, "step() continues with the old state here"),
            ),
            (optimizer.type, *names),
            ops=(found.restored.index, found.following.op),
        )
