"""Parameters that get gradients but sit in no optimizer, and parameters of an optimizer that no model has any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.placement import OptimizerRecord

WritesTo = Callable[[int, int, int, int], Iterable[tuple[Op, Write]]]


class Loose(Struct, frozen=True):
    """Parameters that get gradients but are in no optimizer, and those of an optimizer that get none any more."""

    optimizer: OptimizerRecord
    parameters: tuple[int, ...]
    orphans: tuple[int, ...]


def loose_of(capture: Capture, writes_to: WritesTo) -> Loose | None:
    """What the last step of the capture left out, None when it left nothing out.

    Of an optimizer and a model that were only looked at: what either has and the other has not.
    """
    if not capture.steps:
        return _unpaired(capture) if not capture.ops else None
    optimizer = capture.placement.optimizers[capture.steps[-1].optimizer]
    held = {t for record in capture.placement.optimizers for group in record.parameters for t in group}
    start = _window(capture, optimizer.id)
    reached = _reached(capture, start)
    trainable = {t for group in optimizer.parameters for t in group if capture.tensors[t].requires_grad}
    orphans = tuple(t for t in sorted(trainable - reached) if not _owned(capture, t, start))
    found = [
        t
        for t in sorted(reached - held)
        if _counts(capture, t, orphans) and not _updated_by_hand(capture, t, writes_to)
    ]
    return Loose(optimizer, tuple(found), orphans) if found else None


def _unpaired(capture: Capture) -> Loose | None:
    if not capture.placement.optimizers or not capture.owners:
        return None
    optimizer = capture.placement.optimizers[-1]
    held = {t for group in optimizer.parameters for t in group}
    found = [t for t in sorted(capture.owners) if t not in held and capture.tensors[t].requires_grad]
    orphans = [t for t in sorted(held) if t not in capture.owners]
    return Loose(optimizer, tuple(found), tuple(orphans)) if found else None


def _window(capture: Capture, optimizer: int) -> int:
    """The op index of the optimizer's last step but one: what came after it belongs to the last step."""
    times = [step.at for step in capture.steps if step.optimizer == optimizer]
    return times[-2] if len(times) > 1 else -1


def _reached(capture: Capture, start: int) -> set[int]:
    """Leaves that backward gave gradients since then (a closure's backward runs inside its step)."""
    return {
        tensor
        for run in capture.backwards
        if run.api == "backward" and not run.error and run.start > start
        for tensor in run.reached
        if tensor not in run.empty
    }


def _owned(capture: Capture, tensor: int, start: int) -> bool:
    """Whether a model that ran since then still has the parameter."""
    root = capture.owners.get(tensor, -1)
    return root >= 0 and any(call.root == root and call.at > start for call in capture.calls)


def _counts(capture: Capture, tensor: int, orphans: tuple[int, ...]) -> bool:
    """A module's parameter, or a bare leaf that took an orphan's place."""
    record = capture.tensors[tensor]
    if record.names and record.kind == "parameter":
        return True
    return any(_same_role(capture, tensor, orphan) for orphan in orphans)


def _same_role(capture: Capture, new: int, old: int) -> bool:
    a, b = capture.tensors[new], capture.tensors[old]
    return a.shape == b.shape and bool(a.variable) and a.variable == b.variable


def _updated_by_hand(capture: Capture, tensor: int, writes_to: WritesTo) -> bool:
    """Whether the program itself writes the parameter after a backward (manual SGD, EMA, a target network)."""
    storage = capture.tensors[tensor].storage
    first = min((run.end for run in capture.backwards), default=0)
    writes = writes_to(storage, tensor, first, len(capture.ops))
    return any(not op.has(Trait.STEP | Trait.BACKWARD) for op, _ in writes)
