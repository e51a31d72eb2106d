"""AG409 where a file gives the parameters back and the state that it holds beside them is not loaded."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.unloaded_state import unloaded_states
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def never_loaded(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer. A new run may begin from saved weights: a warning where the old one goes on."""
    for found in unloaded_states(analysis):
        optimizer = analysis.capture.placement.optimizers[found.optimizer]
        names = names_of(analysis, found.tensors)
        yield Problem(
            "info" if found.saved is None else "warning",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} loaded from a file, but {optimizer.type} starts without "
            f"state: the file also holds {found.unread} tensors of the same shapes, as the state of {optimizer.type} has them, and "
            "nothing reads them",
            f"To resume the saved run, also load the state of the optimizer: `{variable(analysis, optimizer)}.load_state_dict(...)`. "
            "If a new run with fresh state is intended, nothing needs to change.",
            analysis.places(
                (found.copied, "parameters loaded here, without the optimizer state"),
                (found.read, "file read here"),
                (found.saved, "optimizer state saved here"),
                (found.step, "step() starts without state here"),
            ),
            (optimizer.type, *names),
            ops=(found.copied.index, found.step.op),
        )
