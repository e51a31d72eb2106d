"""AG204 where an optimizer is given back its own state, which it has updated since."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import LiveStateLoaded
from autograd_inspector.model.remedy import Operand, Remedies
from autograd_inspector.model.wording import join_names


def own_state_loaded(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that loads it."""
    told: set[int] = set()
    for load in analysis.capture.events_of(LiveStateLoaded):
        if load.site not in told:
            told.add(load.site)
            yield _problem(analysis, load)


def _problem(analysis: Analysis, load: LiveStateLoaded) -> Problem:
    name = variable(analysis, analysis.capture.placement.optimizers[load.optimizer])
    rows = analysis.capture.placement.rows_of.get(load.optimizer, ())
    kinds = list(dict.fromkeys(entry.name for row in rows for entry in row.state))
    what = join_names(kinds, 4) if kinds else "its state"
    step = next((s for s in reversed(analysis.capture.steps) if s.optimizer == load.optimizer and s.at < load.at), None)
    return Problem(
        "warning",
        f"{load.type}.state_dict() was kept without a copy: it holds the tensors of the optimizer itself, step() has updated "
        f"{what} since, and loading them back restores nothing",
        f"Keep a copy: `copy.deepcopy({name}.state_dict())`.",
        (
            *analysis.user_frames(load.made, "kept without a copy here"),
            *analysis.places((load, "loaded back here"), (step, "updated here")),
        ),
        (load.type, "state_dict()", *kinds),
        cures=tuple(_copied(analysis, load)),
        safe=True,
    )


def _copied(analysis: Analysis, load: LiveStateLoaded) -> Iterator[Remedies]:
    """A copy where it was taken."""
    for place in analysis.user_frames(load.made, "")[:1]:
        yield (Operand(place, "whole", "copy.deepcopy({})"),)
