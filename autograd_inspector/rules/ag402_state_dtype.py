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
from autograd_inspector.model.remedy import Insert
from autograd_inspector.model.wording import agree, join_names, summarize_names

_SMALLEST = 2.0**-25
"""What is below rounds to 0 in float16."""


def check(analysis: Analysis) -> Iterator[Problem]:
    """Optimizer state has a dtype that step() cannot use, that a load silently changed, or in which `eps` is 0.

    Why it matters
        `model.to(dtype)` after `load_state_dict` converts parameters only: Adam raises "expected dtype", SGD
        continues with momentum in the old precision. `load_state_dict` casts every state tensor except `step` to its
        parameter's dtype, including quantized codes and the float32 moments of a bfloat16 model. In float16, Adam's
        `eps=1e-8` rounds to 0, and so do the squares of gradients below 2e-4: step() divides by zero, and the weights
        become NaN.

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
        yield from _no_epsilon(analysis, optimizer)


def _clashing(row: ParameterRow, entry: StateEntry) -> bool:
    return entry.dtype != row.dtype and differentiable(entry.dtype) and differentiable(row.dtype)


def _dtype_text(analysis: Analysis, optimizer: OptimizerRecord, clashing_entries: list[Misplaced]) -> tuple[str, str]:
    row, entry = clashing_entries[0]
    kinds = join_names(dict.fromkeys(e.name for _, e in clashing_entries), 4)
    names = summarize_names(r.name for r, _ in clashing_entries)
    name = stepper(analysis, optimizer)
    return (
        f"{kinds} of {names} {agree(clashing_entries, 'is', 'are')} {entry.dtype} while the parameters are {row.dtype}",
        "Convert the model first, then build the optimizer and load its state. To convert the existing "
        f"state: `{name}.load_state_dict({name}.state_dict())` casts it to the parameters' dtype.",
    )


def _no_epsilon(analysis: Analysis, optimizer: OptimizerRecord) -> Iterator[Problem]:
    """State of which an update divides by the root plus `eps`, in float16, in which `eps` rounds to 0."""
    concerned = [row for row in rows_of(analysis, optimizer) if _underflows(optimizer, row)] if optimizer.steps else []
    if not concerned:
        return
    names = summarize_names(row.name for row in concerned)
    eps = optimizer.groups[concerned[0].group]["eps"]
    steps = analysis.timeline.steps_of(optimizer.id).all
    yield Problem(
        "warning",
        f"{optimizer.type} keeps the state of {names} in float16, where eps={eps:g} rounds to 0: if the squares of "
        "gradients also round to 0, step() divides by zero",
        "Keep the parameters in float32 and compute in float16 under torch.autocast() with a GradScaler, or in bfloat16. "
        f"Otherwise use an eps that float16 can represent: `{optimizer.type}(..., eps=1e-4)`.",
        analysis.places((optimizer, "optimizer created here"), *((step, "step() called here") for step in steps[-1:])),
        (*dict.fromkeys(row.name for row in concerned), "eps"),
        ops=tuple(step.op for step in steps[-1:]),
    )


def _underflows(optimizer: OptimizerRecord, row: ParameterRow) -> bool:
    settings = optimizer.groups[row.group] if 0 <= row.group < len(optimizer.groups) else {}
    eps = settings.get("eps")
    if not isinstance(eps, float) or not 0 < eps < _SMALLEST or settings.get("fused"):  # Fused kernels use float32.
        return False
    return any(entry.dtype == "float16" and entry.shape == row.shape for entry in row.state)


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
            raised = any(step.error for step in analysis.timeline.steps_of(optimizer.id).all)
            yield Problem(
                "error" if raised else "warning",
                f"{load.api} cast {join_names((f'`{name}`' for name in kinds), 4)} of {summarize_names(r.name for r in rows)} from "
                f"{before} to {after}: it casts all state except `step` to the parameters' dtype",
                _uncast(analysis, optimizer, rows, kinds, before),
                analysis.user_frames(load.site, "state loaded and cast here"),
                (*kinds, *(row.name for row in rows)),
                cures=()
                if _in_one_dtype(optimizer, before)
                else tuple(
                    (Insert(place, _restored(analysis, optimizer, kinds, before), "behind"),)
                    for place in analysis.user_frames(load.site, "")[:1]
                ),
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
    if _in_one_dtype(optimizer, before):
        models = {analysis.capture.owners.get(row.tensor, -1) for row in rows}
        model = analysis.capture.models[models.pop()] if len(models) == 1 and -1 not in models else ""
        model = model if TARGET.fullmatch(model) else "model"
        return (
            f"Keep the parameters in the dtype of the saved state: `{model}.to(torch.{before})` before the optimizer is "
            "built and loaded. Compute in the lower precision under torch.autocast. "
            f"{optimizer.type} cannot step if the dtypes of its state and its parameters differ."
        )
    each = _restored(analysis, optimizer, kinds, before)
    return f"Restore the dtype after loading (`{each}`), or override load_state_dict in the optimizer."


def _in_one_dtype(optimizer: OptimizerRecord, before: str) -> bool:
    """Whether it can step with state of its parameters' dtype alone."""
    return refuses(optimizer) and differentiable(before)


def _restored(analysis: Analysis, optimizer: OptimizerRecord, kinds: list[str], dtype: str) -> str:
    name = variable(analysis, optimizer)
    return f"for s in {name}.state.values(): s.update({{k: s[k].to(torch.{dtype}) for k in {kinds}}})"


def _bits(dtype: str) -> int:
    digits = "".join(c for c in dtype.split("_", maxsplit=1)[0] if c.isdigit())
    return int(digits) if digits else 0
