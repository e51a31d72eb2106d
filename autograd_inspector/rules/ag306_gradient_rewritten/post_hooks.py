"""Hooks that run after a gradient was accumulated and leave the parameter nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import gradients_of, writes_into, zeroed_in_place
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names
from autograd_inspector.rules.ag306_gradient_rewritten.hooks import role_of, spoiled_elsewhere

_TEXTS = {
    "dropped": "drops the gradient of {} that backward has just computed: step() finds none",
    "zeroed": "sets the gradient of {} that backward has just computed to zero",
}


def emptied_by_hook(analysis: Analysis) -> Iterator[Problem]:
    """In every backward that reached the parameter, and no step inside the hook had used the gradient by then."""
    capture = analysis.capture
    hooks_by_case: dict[tuple[int, str], list[TensorHook]] = {}
    for hook in capture.tensor_hooks:
        if not hook.post or hook.tensor not in capture.optimized:
            continue
        runs = list(analysis.timeline.backwards_to(hook.tensor).since(hook.at))
        if not runs:
            continue
        verdicts = [None if _stepped(analysis, hook, run) else _left(analysis, hook, run) for run in runs]
        if verdicts[-1] is not None and None not in verdicts:
            hooks_by_case.setdefault(verdicts[-1], []).append(hook)
    for (site, what), hooks in hooks_by_case.items():
        names = [name_of(analysis, hook.tensor) for hook in hooks]
        name = short_name(hooks[-1].name)
        yield Problem(
            "warning",
            f"the hook {name} {_TEXTS[what].format(summarize_names(names))}",
            "Scale or clip the gradient in the hook (`parameter.grad.mul_(...)`), step there with a separate optimizer "
            "before it is cleared, or remove the hook.",
            analysis.places((site, "gradient rewritten here"), *((hook, role_of(hook)) for hook in hooks[:2])),
            (*dict.fromkeys(names), name),
        )


def _stepped(analysis: Analysis, hook: TensorHook, run: Backward) -> bool:
    return any(
        run.start <= step.at < run.end and any(p.tensor == hook.tensor and p.gradient >= 0 for p in step.parameters)
        for step in analysis.capture.steps
    )


def _left(analysis: Analysis, hook: TensorHook, run: Backward) -> tuple[int, str] | None:
    """(the site that rewrote it, what was left) of the gradient of one backward, None where it is alive."""
    capture, tensor = analysis.capture, hook.tensor
    grad_writes = [w for w in capture.grad_writes if w.tensor == tensor and run.start <= w.at <= run.end]
    if tensor in run.empty:
        # What the hook has read it may have carried off.
        read = any(r.tensor == tensor and r.gradient >= 0 and run.start <= r.at <= run.end for r in capture.grad_reads)
        return (grad_writes[-1].site, "dropped") if grad_writes and grad_writes[-1].gradient < 0 and not read else None
    gradients = gradients_of(analysis, [tensor])
    if _carried_off(analysis, gradients, run, {w.gradient for w in grad_writes}):
        return None
    zeroed = zeroed_in_place(analysis, gradients, run.start, run.end)
    if zeroed is not None:
        return zeroed.site, "zeroed"
    last = grad_writes[-1].gradient if grad_writes else -1
    made = analysis.flow.birth(last) if last >= 0 else None
    if (
        made is not None
        and is_a(made.name, OpKind.RETURNS_ZEROS)
        and not any(True for _ in writes_into(analysis, last, run.start, run.end))
    ):
        return grad_writes[-1].site, "zeroed"
    return _seen_zero(analysis, hook, run, [w.site for w in grad_writes])


def _carried_off(analysis: Analysis, gradients: frozenset[int], run: Backward, assigned_gradients: set[int]) -> bool:
    """Whether the hook read the gradient for something else than the next ``.grad``: a sum that it keeps elsewhere."""
    wanted = set(assigned_gradients)
    for op in reversed(analysis.capture.ops[run.start : run.end]):
        if not wanted.isdisjoint(op.outputs):
            wanted.update(op.inputs)
        elif not gradients.isdisjoint(op.inputs) and all(write.tensor not in gradients for write in op.writes):
            return True
    return False


def _seen_zero(analysis: Analysis, hook: TensorHook, run: Backward, sites: list[int]) -> tuple[int, str] | None:
    """Where values were read: zeros, and something wrote to the gradient in the hook. Its last site."""
    values = [v for v in analysis.capture.leaf_values if v.tensor == hook.tensor and v.backward == run.index]
    if not values or not values[-1].zero or hook.tensor in spoiled_elsewhere(analysis):
        return None
    for gradient in gradients_of(analysis, [hook.tensor]):
        sites += [op.site for op, _ in writes_into(analysis, gradient, run.start, run.end)]
    return (sites[-1], "zeroed") if sites else None
