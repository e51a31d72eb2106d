"""Gradients of wrapped parameters that ``torch.autograd.grad`` returned: no reducer saw them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait


class AskedFor(Struct, frozen=True):
    """``op`` asked for gradients of ``tensors``, which ``site`` updates with them, directly or as their ``.grad``."""

    op: Op
    tensors: tuple[int, ...]
    site: int


def updated_past_reducer(capture: Capture, reductions: Reductions) -> Iterator[AskedFor]:
    """For each line that asks, the first time that what it returned moves weights, and no call carried it before."""
    met: set[int] = set()
    asking = [op for op in capture.ops if op.name == "grad" and not reductions.wrapper_of.keys().isdisjoint(op.inputs)]
    for place, op in enumerate(asking if reductions.wrappers else ()):
        if op.site in met or op.has(Trait.BACKWARD):
            continue
        end = asking[place + 1].index if place + 1 < len(asking) else len(capture.ops)
        updates = _updates(capture, reductions, op, end)
        if updates:
            met.add(op.site)
            yield AskedFor(op, tuple(updates), next(iter(updates.values())))


def _updates(capture: Capture, reductions: Reductions, asking: Op, end: int) -> dict[int, int]:
    """Parameter -> the line that updates it with what ``asking`` returned; nothing where ranks exchange that."""
    weights = {reductions.exchanges.storage(tensor): tensor for tensor in reductions.wrapper_of}
    weights.pop(-1, None)
    asked = {tensor for tensor in asking.inputs if tensor in reductions.wrapper_of}
    from_it = set(asking.outputs)
    updates: dict[int, int] = {}
    for op in capture.ops[asking.index + 1 : end]:
        if from_it.isdisjoint(op.inputs):
            continue
        if op.has(Trait.COLLECTIVE):
            return {}
        moved = [weights[write.storage] for write in op.writes if write.storage in weights]
        if not op.has(Trait.STEP):
            moved_on = (
                tensor for tensor in moved if tensor in asked and not _taken_back(capture, reductions, op, tensor)
            )
            updates.update((tensor, op.site) for tensor in moved_on)
            from_it.update(op.outputs if not moved else ())
    stepped = {p.tensor for step in capture.steps if asking.index < step.at for p in step.parameters if p.gradient >= 0}
    for write in capture.grad_writes:
        if asking.index < write.at <= end and write.gradient in from_it and write.tensor in asked & stepped:
            updates[write.tensor] = write.site
    return updates


def _taken_back(capture: Capture, reductions: Reductions, move: Op, tensor: int) -> bool:
    """Whether a weight gets its old values again before a step: the same gradient moves it back, or a copy does."""
    memory = reductions.exchanges.storage(tensor)
    end = next((step.updates_from for step in capture.steps if step.at > move.index), len(capture.ops))
    by = {t for t in move.inputs if reductions.exchanges.storage(t) != memory}
    for op in capture.ops[move.index + 1 : end]:
        again = is_a(op.name, OpKind.COPIES_INTO) or not by.isdisjoint(op.inputs)
        if again and not op.has(Trait.STEP) and any(write.storage == memory for write in op.writes):
            return True
    return False
