"""AG403 before a load: the state of another kind of optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.advice.before_load.fixes import fix, weights
from autograd_inspector.analysis.checkpoints.loading_lines import opening
from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.analysis.checkpoints.state_kinds import LATER_SETTINGS, NEEDED_STATE, state_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import join_names


class Unlike(Struct, frozen=True):
    """``lost``: settings that the step reads and the checkpoint has not; ``absent``: state that it reads likewise.

    ``unknown``: state that this optimizer does not keep; without the other two it is carried along and never read.
    """

    lost: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def foreign(self) -> bool:
        """Whether the load or the next step raises KeyError."""
        return bool(self.lost or self.absent)


def unlike(resume: Resume) -> Unlike:
    """How the saved state and settings differ from what the optimizer keeps."""
    optimizer, saved = resume.optimizer, resume.saved
    if optimizer is None or saved is None or not saved.groups:
        return Unlike()
    lost = tuple(
        name
        for name in resume.target.defaults
        if name not in LATER_SETTINGS and any(name not in group.settings for group in saved.groups)
    )
    accepted_names = state_of(optimizer.type) if optimizer.module.startswith("torch.optim") else None
    if accepted_names is None:
        return Unlike(() if resume.target.own_loading else lost)
    needed = NEEDED_STATE[optimizer.type]
    held = [{entry.name for entry in parameter.state} for parameter in saved.parameters if parameter.state]
    kept = dict.fromkeys(entry.name for parameter in saved.parameters for entry in parameter.state)
    absent = tuple(sorted(name for name in needed if any(name not in state for state in held)))
    return Unlike(lost, absent, tuple(name for name in kept if name not in accepted_names))


def kind_problems(resume: Resume) -> Iterator[Problem]:
    """One finding: an error where load or step raises, a warning where state comes along that nobody reads."""
    differences = unlike(resume)
    if resume.optimizer is None or resume.saved is None or not (differences.foreign or differences.unknown):
        return
    kind = resume.optimizer.type
    reasons = []
    if differences.unknown:
        reasons.append(f"it has state that {kind} does not keep ({join_names(differences.unknown)})")
    if differences.absent:
        reasons.append(f"it lacks {join_names(differences.absent)}, which {kind} needs to step")
    if differences.lost:
        reasons.append(f"its groups replace yours but lack {join_names(differences.lost)}, which {kind}.step() reads")
    advice = f"start {kind} with fresh state, or create an optimizer of the class that wrote the checkpoint"
    if resume.fit is not None:
        text = fix(advice, *weights(resume), "model.load_state_dict(weights)")
    else:
        names = ", ".join(resume.saved.groups[0].settings)
        text = fix(f"{advice}; its settings were", f"# {names}", *opening(resume.checkpoint))
    yield Problem(
        "error" if differences.foreign else "warning",
        f"this checkpoint is not from {kind}: {'; '.join(reasons)}",
        text,
        subjects=(kind, *differences.lost, *differences.absent, *differences.unknown),
    )
