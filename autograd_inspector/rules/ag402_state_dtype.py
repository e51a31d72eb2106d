"""AG402: optimizer state of a dtype that the step cannot use, or that a load changed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.before_load.dtypes import dtype_problems
from autograd_inspector.advice.before_load.problems import before_loading
from autograd_inspector.advice.misplaced_state import Misplaced, entries, misplaced, refuses, rows_of
from autograd_inspector.advice.optimizer_snippets import stepper
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.optimizers.names import TARGET, variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.model.program_events import StateCast
from autograd_inspector.model.wording import agree, join_names, summarize_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """Optimizer state of a dtype that the step cannot use, or that a load silently changed.

    Why it matters
        `model.to(dtype)` after `load_state_dict` converts parameters only: Adam raises "expected dtype", SGD goes on
        with momentum of the old precision. `load_state_dict` in turn casts every state tensor but `step` to its
        parameter's dtype, also quantised codes and float32 moments of a bfloat16 model.

    Example
        ::

            optimizer.load_state_dict(checkpoint)
            net.double()
            net(x.double()).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            net.double()
            optimizer.load_state_dict(checkpoint)
            net(x.double()).pow(2).mean().backward()
            optimizer.step()

    References
        torch.optim.Optimizer.load_state_dict; torch.nn.Module.to.
    """
    yield from before_loading(analysis, dtype_problems)
    for optimizer in analysis.capture.placement.optimizers:
        clashing_entries = [
            (row, entry) for row, entry in entries(analysis, optimizer, device=False) if _clashing(row, entry)
        ]
        if clashing_entries:
            yield misplaced(
                analysis, optimizer, clashing_entries, _dtype_text(analysis, optimizer, clashing_entries), always=False
            )
        yield from _cast_by_loading(analysis, optimizer)


def _clashing(row: ParameterRow, entry: StateEntry) -> bool:
    return entry.dtype != row.dtype and differentiable(entry.dtype) and differentiable(row.dtype)


def _dtype_text(analysis: Analysis, optimizer: OptimizerRecord, clashing_entries: list[Misplaced]) -> tuple[str, str]:
    row, entry = clashing_entries[0]
    kinds = join_names(dict.fromkeys(e.name for _, e in clashing_entries), 4)
    names = summarize_names(r.name for r, _ in clashing_entries)
    name = stepper(analysis, optimizer)
    return (
        f"{kinds} of {names} {agree(clashing_entries, 'is', 'are')} {entry.dtype} while the parameters are {row.dtype}",
        "Convert the model first, then build the optimizer and load its state. For the state that is there now: "
        f"`{name}.load_state_dict({name}.state_dict())` casts it to the parameters' dtype.",
    )


def _cast_by_loading(analysis: Analysis, optimizer: OptimizerRecord) -> Iterator[Problem]:
    """``load_state_dict`` changed the dtype of state on its own, and the state still has it."""
    for load in analysis.timeline.loads_of(optimizer.id).all:
        casts = [cast for cast in load.casts if _lowered(analysis, optimizer, cast)]
        for before, after in dict.fromkeys((cast.before, cast.after) for cast in casts):
            kinds = [cast.entry for cast in casts if (cast.before, cast.after) == (before, after)]
            rows = [
                row
                for row in rows_of(analysis, optimizer)
                if any(e.name in kinds and e.dtype == after for e in row.state)
            ]
            raised = any(step.error and step.optimizer == optimizer.id for step in analysis.capture.steps)
            yield Problem(
                "error" if raised else "warning",
                f"{load.api} cast {join_names((f'`{name}`' for name in kinds), 4)} of {summarize_names(r.name for r in rows)} from "
                f"{before} to {after}: it casts all state but `step` to the parameters' dtype",
                _uncast(analysis, optimizer, rows, kinds, before),
                analysis.user_frames(load.site, "state loaded and cast here"),
                tuple(dict.fromkeys([*kinds, *(row.name for row in rows)])),
            )


def _lowered(analysis: Analysis, optimizer: OptimizerRecord, cast: StateCast) -> bool:
    """Whether the state still shows the cast, and it loses something."""
    widened = differentiable(cast.before) and _bits(cast.after) >= _bits(cast.before)
    state = (entry for row in rows_of(analysis, optimizer) for entry in row.state)
    return not widened and any((entry.name, entry.dtype) == (cast.entry, cast.after) for entry in state)


def _uncast(
    analysis: Analysis, optimizer: OptimizerRecord, rows: list[ParameterRow], kinds: list[str], before: str
) -> str:
    """torch's own optimizers compute with state of their parameters' dtype alone; others may know better."""
    if refuses(optimizer) and differentiable(before):
        models = {analysis.capture.owners.get(row.tensor, -1) for row in rows}
        model = analysis.capture.models[models.pop()] if len(models) == 1 and -1 not in models else ""
        model = model if TARGET.fullmatch(model) else "model"
        return (
            f"Keep the parameters in the dtype that the state was made for: `{model}.to(torch.{before})` before the optimizer "
            "is built and loaded; compute in the lower precision under torch.autocast. "
            f"{optimizer.type} cannot step with state of another dtype than its parameters."
        )
    each = f"for s in {variable(analysis, optimizer)}.state.values(): s.update({{k: s[k].to(torch.{before}) for k in {kinds}}})"
    return f"Restore the dtype after loading (`{each}`), or override load_state_dict in the optimizer."


def _bits(dtype: str) -> int:
    digits = "".join(c for c in dtype.split("_", maxsplit=1)[0] if c.isdigit())
    return int(digits) if digits else 0
