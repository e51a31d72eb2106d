"""Hooks that turned a gradient into zeros on its way, as far as values were read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ModuleHookRegistered
from autograd_inspector.model.torch_names import MODULE_HOOK

H = TypeVar("H")


class Zeroing(Struct, Generic[H], frozen=True):
    """``hook`` gave zeros for the gradient of what ``op`` made: ``starved`` got nothing else, ``concerned`` are told."""

    hook: H
    op: Op
    starved: bool
    concerned: tuple[int, ...]


def gradient_hooks(capture: Capture) -> list[TensorHook]:
    """The hooks that are given a gradient, which is not theirs; others may do with the tensor's ``.grad`` what they like."""
    return [hook for hook in capture.tensor_hooks if not hook.post]


def zeroing_module_hooks(analysis: Analysis) -> Iterator[Zeroing[ModuleHookRegistered | None]]:
    """Backward hooks of modules; None: which one it was is not known."""
    capture = analysis.capture
    hooks = [hook for hook in capture.events_of(ModuleHookRegistered) if hook.backward]
    modules: dict[tuple[int, str], tuple[Op, set[int]]] = {}
    for fault in capture.gradient_faults:
        node = capture.nodes[fault.node]
        op, behind = capture.op_of(node), analysis.leaves_below(node)
        if fault.kind in {"zero", "hooked"} and op is not None and op.name.startswith(MODULE_HOOK) and behind:
            module = (capture.calls[op.call].root, capture.calls[op.call].path) if op.call >= 0 else (-1, "")
            modules.setdefault(module, (op, set()))[1].update(behind)
    for op, behind in modules.values():
        call = capture.call_of(op)
        own = [hook for hook in hooks if call is None or hook.type == call.type] or hooks
        yield _zeroing(capture, own[-1] if own else None, op, behind)


def zeroing_tensor_hooks(analysis: Analysis) -> Iterator[Zeroing[TensorHook]]:
    """Hooks of activations."""
    capture = analysis.capture
    found: dict[int, tuple[TensorHook, Op, set[int]]] = {}
    for fault in capture.gradient_faults:
        node = capture.nodes[fault.node]
        op = capture.op_of(node) if fault.kind == "hooked" else None
        hooks = [hook for hook in gradient_hooks(capture) if op is not None and hook.tensor in op.outputs]
        behind = analysis.leaves_below(node) if hooks else set()
        if op is not None and behind:
            found.setdefault(hooks[-1].site, (hooks[-1], op, set()))[2].update(behind)
    for hook, op, behind in found.values():
        yield _zeroing(capture, hook, op, behind)


def _zeroing(capture: Capture, hook: H, op: Op, behind: set[int]) -> Zeroing[H]:
    starved = behind - {values.tensor for values in capture.leaf_values if not values.zero}
    return Zeroing(hook, op, bool(starved), tuple(sorted(starved or behind)))
