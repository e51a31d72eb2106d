"""AG409 where a step raised a KeyError: for what an option asks for, or for state that was made for others alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.checkpoints.state_kinds import state_of
from autograd_inspector.analysis.optimizers.state_lines import assigned_by_program, made_by_class
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow
from autograd_inspector.model.program_events import OptionSet, StateStatement
from autograd_inspector.model.wording import agree, summarize_names

_KEY = re.compile(r"KeyError: '(\w+)'$")
_OPTIONS = {"max_exp_avg_sq": "amsgrad", "momentum_buffer": "momentum", "grad_avg": "centered"}
"""State of torch's own optimizers -> the option that asks for it."""


def state_key(analysis: Analysis) -> Iterator[Problem]:
    """The last step looked for a key that the state of its parameters does not have."""
    capture = analysis.capture
    key_error = _KEY.match(capture.error)
    step = capture.steps[-1] if capture.steps else None
    if key_error is None or step is None or not step.error:
        return
    key = key_error[1]
    every = capture.placement.rows_of.get(step.optimizer, [])
    rows = [row for row in every if row.state]
    names = [row.name for row in rows if key not in {entry.name for entry in row.state}]
    optimizer = capture.placement.optimizers[step.optimizer]
    if not names:
        yield from _never_made(analysis, optimizer, step, key, every)
        return
    if not _is_state(analysis, optimizer, key, every):
        return
    option = _OPTIONS.get(key, "")
    lines = [e for e in capture.events_of(OptionSet) if e.option == (option or e.option)]
    option = option or (lines[0].option if lines else "")
    why = f": {option} was enabled after the state had been created without it" if option and lines else ""
    fresh = "tart these parameters with fresh state: `optimizer.state.pop(parameter)`."
    yield Problem(
        "error",
        f"{optimizer.type}.step() reads {key} from the state of {summarize_names(names)}, which does not have it{why}",
        f"Pass {option} to {optimizer.type}() when creating it; or s{fresh}" if option else f"S{fresh}",
        (
            *analysis.places(*((line, "option set here") for line in lines)),
            *assigned_by_program(analysis, optimizer, [key]),
            *analysis.places((step, "step() raised here"), (optimizer, "optimizer created here")),
        ),
        (*names, key),
    )


def _is_state(analysis: Analysis, optimizer: OptimizerRecord, key: str, rows: list[ParameterRow]) -> bool:
    """Whether state has such a key: the user's own class may have looked for it in its groups, or anywhere."""
    own = state_of(optimizer.type) if optimizer.module.startswith("torch.optim") else None
    if own is not None:
        return key in own  # Settings that the checkpoint of another optimizer lacks are looked for in the groups.
    statements = [s for s in analysis.capture.events_of(StateStatement) if s.optimizer == optimizer.id]
    in_state = any(entry.name == key for row in rows for entry in row.state)
    return not statements or in_state or any(key in s.keys for s in statements)


def _never_made(
    analysis: Analysis, optimizer: OptimizerRecord, step: Step, key: str, rows: list[ParameterRow]
) -> Iterator[Problem]:
    """Parameters with a gradient for which a hand-written optimizer made no state when it did for the others."""
    stepped = {p.tensor for p in step.parameters if p.gradient >= 0}
    bare = [row for row in rows if not row.state and row.tensor in stepped]
    having = [row for row in rows if key in {entry.name for entry in row.state}]
    if not bare or not having:
        return
    names = [row.name for row in bare]
    kinds = [entry.name for entry in having[0].state]
    alike = all(e.shape == row.shape and e.dtype == row.dtype for row in having for e in row.state)
    thawed = analysis.lifecycle.unfrozen((row.tensor for row in bare), since=optimizer.created_at, until=step.at)
    when = f": the state was created before {agree(names, 'it', 'they')} required grad" if thawed else ""
    make = f"`for key in {kinds}: self.state[p].setdefault(key, torch.zeros_like(p))` in {optimizer.type}.step()"
    yield Problem(
        "error",
        f"{optimizer.type}.step() reads {key} from the state of {summarize_names(names)}, which {agree(names, 'has', 'have')} no "
        f"state; {summarize_names(row.name for row in having)} {agree(having, 'has', 'have')} it{when}",
        f"Create the missing state{f', {make}' if alike else f', in {optimizer.type}.step()'}; or create it for all "
        "parameters of the groups, whether or not they require grad yet.",
        (
            *made_by_class(analysis, optimizer, kinds),
            *analysis.places(
                *((c, "unfrozen here") for c in thawed[-2:]),
                (step, "step() raised here"),
                (optimizer, "optimizer created here"),
            ),
        ),
        (*names, key),
    )
