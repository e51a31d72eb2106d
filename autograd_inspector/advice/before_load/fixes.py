"""Fixes for checkpoints: statements that can be pasted, the first line a comment that says what they do."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.advice.before_load.rebuild import assigned
from autograd_inspector.analysis.checkpoints.loading_lines import at, opening, renamed
from autograd_inspector.analysis.checkpoints.resume import Resume

LOAD = "optimizer.load_state_dict(saved)"


def fix(comment: str, *lines: str) -> str:
    """One text, a statement a line."""
    return "\n".join([f"# {comment}", *lines])


def weights(resume: Resume) -> list[str]:
    """``weights``: the model's state_dict in the checkpoint, its names those of the model."""
    if resume.fit is None:
        return opening(resume.checkpoint)
    return [*opening(resume.checkpoint), f"weights = {renamed(resume.fit.renaming, at(resume.fit.saved.path))}"]


def saved(resume: Resume) -> list[str]:
    """``saved``: the optimizer's state_dict in the checkpoint."""
    assert resume.saved is not None  # noqa: S101 - asked for only where there is one
    return [*opening(resume.checkpoint), f"saved = {at(resume.saved.path)}"]


def popped(resume: Resume, positions: Iterable[int]) -> list[str]:
    """Statements that drop the saved state of some positions, so that these parameters start with fresh state."""
    assert resume.saved is not None  # noqa: S101 - asked for only where there is one
    keys = [resume.saved.parameters[position].key for position in positions]
    first, *more = assigned("fresh", keys)
    return [first, *more, "for key in fresh:", '    saved["state"].pop(key, None)']
