"""AG402 before a load: what load_state_dict will cast, of the model and of the optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.advice.before_load.fixes import LOAD, fix, saved
from autograd_inspector.advice.before_load.kind import unlike
from autograd_inspector.advice.before_load.names import is_foreign
from autograd_inspector.analysis.checkpoints.loading_lines import plan, recreated
from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.analysis.checkpoints.state_kinds import floating, loses
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import innermost
from autograd_inspector.model.wording import join_names, summarize_names

_RESTORED = (
    "parameters = (p for group in optimizer.param_groups for p in group['params'])",
    "keys = (key for group in saved['param_groups'] for key in group['params'])",
    "for p, key in zip(parameters, keys):",
    "    for name, value in saved['state'].get(key, {}).items():",
    "        if torch.is_tensor(value) and name != 'step':",
    "            optimizer.state[p][name] = value.to(p.device)",
)
"""Statements that put the saved state back in its own dtype."""


class Cast(Struct, frozen=True):
    """A tensor that changes its dtype on the way; ``entry`` is the kind of state, "" for the model's own."""

    name: str
    entry: str
    before: str
    after: str

    @property
    def lossy(self) -> bool:
        """Whether values can change."""
        return loses(self.before, self.after, codes=bool(self.entry))


def dtype_problems(resume: Resume) -> Iterator[Problem]:
    """One finding for each pair of dtypes, whatever it concerns."""
    casts = [*_of_model(resume), *_of_state(resume)]
    for before, after, lossy in dict.fromkeys((cast.before, cast.after, cast.lossy) for cast in casts):
        alike = [c for c in casts if (c.before, c.after, c.lossy) == (before, after, lossy)]
        yield _problem(resume, alike, before, after)


def _of_model(resume: Resume) -> Iterator[Cast]:
    fit = resume.fit
    if fit is None or is_foreign(resume):
        return
    for tensor, slot in fit.matched:
        if tensor.dtype != slot.dtype and slot.kind != "extra":
            yield Cast(slot.name, "", tensor.dtype, slot.dtype)


def _of_state(resume: Resume) -> Iterator[Cast]:
    """``Optimizer.load_state_dict`` casts all but ``step`` to the dtype of a floating parameter."""
    if resume.saved is None or not resume.same_groups or resume.target.own_loading or unlike(resume).foreign:
        return
    for parameter, name, row in zip(resume.saved.parameters, resume.names, resume.rows, strict=True):
        for entry in parameter.state:
            kind = innermost(entry.name)
            if kind != "step" and entry.dtype != row.dtype and floating(row.dtype):
                yield Cast(name, kind, entry.dtype, row.dtype)


def _problem(resume: Resume, casts: list[Cast], before: str, after: str) -> Problem:
    lossy = casts[0].lossy
    model = [cast.name for cast in casts if not cast.entry]
    state = [cast.name for cast in casts if cast.entry]
    kinds = join_names(dict.fromkeys(cast.entry for cast in casts if cast.entry), 4)
    what = [summarize_names(model)] if model else []
    if state:
        what.append(f"{kinds} of {summarize_names(state)}" if not model else f"their optimizer state ({kinds})")
    integer = not floating(before) and lossy
    loss = "precision is lost" if floating(before) else "codes become plain numbers with another meaning"
    both = (
        "both load_state_dict cast" if model and state else f"{'model' if model else 'optimizer'}.load_state_dict casts"
    )
    message = f"{both} {before} to {after}: {' and '.join(what)}" + (f"; {loss}" if lossy else "; no value changes")
    return Problem(
        "warning" if lossy else "info",
        message,
        _fix(resume, before, widened=not lossy, integer=integer, model=bool(model)),
        subjects=(*model, *state, *(cast.entry for cast in casts if cast.entry)),
        details=("`step` is not cast, and there is no warning that the rest was cast.",) if state and lossy else (),
    )


def _fix(resume: Resume, before: str, *, widened: bool, integer: bool, model: bool) -> str:
    if model and floating(before):
        remade = [recreated(resume)] if resume.optimizer is not None else []
        why = "nothing to fix; to work in the checkpoint's dtype" if widened else "keep the precision"
        return fix(
            f"{why}: convert the model first, create the optimizer, then load (use autocast for lower precision)",
            f"model.to(torch.{before})",
            *remade,
            *plan(resume),
        )
    if model:
        return fix("load the checkpoint's tensors as they are", *plan(resume)) + "  # or with assign=True"
    if widened:
        return fix("nothing to fix", *saved(resume), LOAD)
    kept = "restore the codes after loading" if integer else "restore the state in its saved precision after loading"
    if not integer and resume.optimizer is not None and resume.optimizer.module.startswith("torch.optim"):
        return fix(
            f"{resume.optimizer.type} needs state in the dtype of its parameters: keep the parameters in {before}",
            f"model.to(torch.{before})",
            recreated(resume),
            *plan(resume),
        )
    return fix(kept, *saved(resume), LOAD, *_RESTORED)
