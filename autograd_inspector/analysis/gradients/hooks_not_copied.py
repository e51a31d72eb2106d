"""Hooks on a parameter that only copies of it are trained for: a copy of a tensor has none of its hooks."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.op import Op


class NotCopied(Struct, frozen=True):
    """``hook`` is on a parameter that no backward reaches; ``copied`` made the first of ``copies``, which are trained."""

    hook: TensorHook
    copied: Op
    copies: tuple[int, ...]


def hooks_not_copied(analysis: Analysis) -> Iterator[NotCopied]:
    """One record for each hook. Who trains the parameter itself uses the hook, and may want a copy without it."""
    capture = analysis.capture
    hooked = {hook.tensor for hook in capture.tensor_hooks}
    idle = {
        storage: hook
        for hook in reversed(capture.tensor_hooks)
        if capture.tensors[hook.tensor].kind == "parameter"
        and hook.tensor not in analysis.received_gradient
        and (storage := capture.tensors[hook.tensor].storage) >= 0
    }
    found: dict[int, NotCopied] = {}
    for tensor in sorted(analysis.received_gradient.intersection(capture.optimized) - hooked) if idle else ():
        made = analysis.flow.birth(tensor)
        if made is None or not is_a(made.name, OpKind.COPIES) or len(made.inputs) != 1:
            continue
        source = capture.tensors[made.inputs[0]]
        hook = idle.get(source.storage)
        if hook is not None and hook.at <= made.index and source.shape == capture.tensors[hook.tensor].shape:
            before = found.get(hook.tensor)
            copies = (*(before.copies if before else ()), tensor)
            found[hook.tensor] = NotCopied(hook, before.copied if before else made, copies)
    yield from found.values()
