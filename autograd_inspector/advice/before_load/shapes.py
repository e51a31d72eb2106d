"""AG403 before a load: shapes that differ, state that would go to another parameter, another optimizer's state."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.before_load.fixes import LOAD, fix, popped, saved, weights
from autograd_inspector.advice.before_load.kind import unlike
from autograd_inspector.advice.before_load.names import is_foreign
from autograd_inspector.advice.before_load.position import Positions, shape_at
from autograd_inspector.advice.before_load.rebuild import rebuilt
from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.model.checkpoint import CheckpointTensor, Slot
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.wording import agree, summarize_names


def shape_problems(resume: Resume) -> Iterator[Problem]:
    """The model's shapes first; state that misfits for the same reason belongs to that finding."""
    fit = resume.fit
    reshaped = fit.reshaped if fit is not None and not is_foreign(resume) else ()
    positions = Positions(resume)
    foreign = unlike(resume).foreign
    if reshaped:
        yield _reshaped(resume, reshaped, [] if foreign else positions.misfits)
    if foreign:
        return
    if positions.order is not None:
        yield _swapped(resume, positions, positions.order)
    elif positions.misfits and not reshaped:
        yield _misfits(resume, positions, positions.misfits)


def _reshaped(resume: Resume, pairs: tuple[tuple[CheckpointTensor, Slot], ...], state: list[int]) -> Problem:
    first, slot = pairs[0]
    names = [s.name for _, s in pairs]
    rows_only = all(a.shape[1:] == b.shape[1:] and a.shape and b.shape for a, b in pairs)
    message = (
        f"model.load_state_dict raises, even with strict=False: {slot.name} is {list(first.shape)} in the checkpoint and "
        f"{list(slot.shape)} in the model" + (f", and {len(pairs) - 1} more differ" if len(pairs) > 1 else "")
    )
    if state:
        message += f"; the optimizer state for {agree(state, 'it', 'them')} has the old shape, which step() cannot use"
    if rows_only:
        comment = "keep the rows that both have, and the model's values in the other rows"
        lines = [
            "own = model.state_dict()",
            "for name, tensor in list(weights.items()):",
            "    if name in own and tensor.shape != own[name].shape:",
            "        rows = min(len(tensor), len(own[name]))",
            "        weights[name] = own[name].clone()",
            "        weights[name][:rows] = tensor[:rows]",
            "model.load_state_dict(weights)",
        ]
    else:
        comment = "load the tensors that fit; the others keep their current values"
        lines = [
            "own = model.state_dict()",
            "fitting = {n: t for n, t in weights.items() if n in own and t.shape == own[n].shape}",
            "model.load_state_dict(fitting, strict=False)",
        ]
    if state:
        lines += [saved(resume)[-1], *popped(resume, state), LOAD]
    opened = weights(resume)
    if rows_only and not (resume.fit and resume.fit.renaming):
        opened[-1] = opened[-1].replace("weights = ", "weights = dict(") + ")"
    return _problem("error", message, fix(comment, *opened, *lines), (*names, *(t.name for t, _ in pairs)))


def _swapped(resume: Resume, positions: Positions, order: list[int]) -> Problem:
    """Matching is by position: each parameter would get the state of another."""
    names = resume.names
    moved = [(i, j) for i, j in enumerate(order) if i != j]
    i, j = next(((a, b) for a, b in moved if a in positions.misfits), moved[0])
    proved = all(parameter.name for parameter in positions.saved)
    by = "the names in the saved groups" if proved else "the saved shapes"
    shape = f" ({list(shape_at(positions.saved[i]) or ())})" if i in positions.misfits else ""
    severity: Severity = "error" if positions.misfits else "warning"
    end = "step() raises" if positions.misfits else "nothing raises"
    return _problem(
        severity,
        f"state is matched by position, but {by} show that the checkpoint has a different parameter order: {names[i]} would get "
        f"the state of {names[j]}{shape}"
        + (f", and {len(moved) - 1} more would get that of another parameter" if len(moved) > 1 else "")
        + f"; {end}",
        fix(
            "create the optimizer with its parameters in the saved order, then load",
            *saved(resume),
            *rebuilt(resume, [resume.rows[place] for place in order]),
            LOAD,
        ),
        tuple(names[place] for pair in moved for place in pair),
    )


def _misfits(resume: Resume, positions: Positions, left: list[int]) -> Problem:
    names = [resume.names[i] for i in left]
    i = left[0]
    shape = list(shape_at(positions.saved[i]) or ())
    entry = next(e.name for e in positions.saved[i].state if e.shape == shape_at(positions.saved[i]))
    return _problem(
        "error",
        f"load_state_dict does not check shapes: {summarize_names(names)} would get state of a different shape ({entry} {shape}, {names[0]} "
        f"{list(resume.rows[i].shape)}), and step() raises",
        fix("start these parameters with fresh state", *saved(resume), *popped(resume, left), LOAD),
        tuple(names),
    )


def _problem(severity: Severity, message: str, text: str, subjects: tuple[str, ...]) -> Problem:
    return Problem(severity, message, text, subjects=tuple(subjects))
