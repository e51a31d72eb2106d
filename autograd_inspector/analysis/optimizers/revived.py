"""Pruned weights that come back: a mask set them to zero once, and the steps behind it move them again.

Zeros stay where the mask is applied again after each step, where the forward multiplies by it, or where it is applied
to each gradient and the optimizer has no averages of gradients from before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.checkpoints.state_kinds import AVERAGES
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.memory.masks import is_mask, of_its_size
from autograd_inspector.analysis.memory.restored import copied_in
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op, Trait, Write

_ASIDE = Trait.STEP | Trait.BACKWARD
_PASSED_ON = OpKind.ALIASES | OpKind.COPIES | OpKind.CONVERTS
_APPLIES = OpKind.MULTIPLIES | OpKind.CHOOSES | OpKind.SETS_NUMBER


class _Masked(NamedTuple):
    """``op`` left in the parameter what it had been, multiplied by ``mask``; ``storage`` is where that lay."""

    op: Op
    mask: int
    storage: int


class Revived(Struct, frozen=True):
    """``masked`` set elements of ``tensor`` to zero, ``step`` moved them, and so did later ones, ``steps`` in all.

    ``averages``: the entries of the optimizer's state that moved them, where the gradients were masked as well.
    """

    tensor: int
    masked: Op
    step: Step
    steps: int
    averages: tuple[str, ...] = ()


def revived(analysis: Analysis) -> Iterator[Revived]:
    """Each parameter once, by the first mask that was applied to it."""
    capture = analysis.capture
    if not capture.steps or capture.history.folded:
        return
    by_storage = {capture.tensors[t].storage: t for t in analysis.optimized_trainable}
    first: dict[int, _Masked] = {}
    for op in writing(capture):
        for write in op.writes if not op.has(_ASIDE) else ():
            tensor = write.tensor if write.tensor in analysis.optimized_trainable else by_storage.get(write.storage, -1)
            unmet = tensor >= 0 and tensor not in first
            if unmet and (masked := _masked(analysis, op, write, tensor)) is not None:
                first[tensor] = masked
    for tensor, masked in first.items():
        found = _moved_again(analysis, tensor, masked)
        if found is not None:
            yield found


def _masked(analysis: Analysis, op: Op, write: Write, tensor: int) -> _Masked | None:
    """Where a write multiplies a parameter by a mask of its largest elements, or assigns such a product to it.

    Or sets the others to zero.
    """
    capture = analysis.capture
    if is_a(op.name, OpKind.SETS_NUMBER) and 0 in capture.given.get(op.index, {}).values():
        told = [t for t in op.inputs if capture.tensors[t].dtype == "bool"]
        small = [t for t in told if of_its_size(analysis, t, op.index, tensor, write.storage)]
        return _Masked(op, small[0], write.storage) if small else None
    product: Op | None = op
    if not is_a(op.name, OpKind.MULTIPLIES):
        source = op.inputs[0] if assigns(op) and op.inputs else copied_in(op, write)
        product = _product(analysis, source, op.index) if source is not None else None
    if product is None or len(product.inputs) != _FACTORS:
        return None
    own = [t for t in product.inputs if t == tensor or capture.tensors[t].storage == write.storage]
    masks = [t for t in product.inputs if t not in own and is_mask(analysis, t, product.index)]
    if len(own) != 1 or len(masks) != 1 or not of_its_size(analysis, masks[0], product.index, tensor, write.storage):
        return None
    return _Masked(op, masks[0], write.storage)


_FACTORS = 2


def _product(analysis: Analysis, tensor: int, before: int) -> Op | None:
    """The product that a tensor holds, as it is or copied."""
    for _ in range(_COPIES):
        producers = analysis.flow.producers(tensor, before)
        if len(producers) != 1:
            return None
        op = analysis.capture.ops[producers[0]]
        if is_a(op.name, OpKind.MULTIPLIES):
            return op
        if not is_a(op.name, _PASSED_ON) or not op.inputs:
            return None
        tensor, before = op.inputs[0], op.index
    return None


_COPIES = 4


def _moved_again(analysis: Analysis, tensor: int, masked: _Masked) -> Revived | None:
    capture = analysis.capture
    steps = [
        (step, p)
        for step in analysis.timeline.steps.since(masked.op.index)
        for p in step.parameters
        if p.tensor == tensor and p.gradient >= 0 and not p.frozen and not step.error and step.rate(p) != 0
    ]
    optimizers = {capture.placement.optimizers[step.optimizer].module for step, _ in steps}
    # What a step of the program's own, or a hook, does besides is not known: it may apply the mask.
    if any(step.hooked for step, _ in steps) or not all(module.startswith("torch.optim.") for module in optimizers):
        return None
    if not steps or steps[0][0].updates_from < masked.op.index or _kept_by_hand(analysis, tensor, masked):
        return None
    if not any(_applied(analysis, op, masked) for op in capture.ops[masked.op.index + 1 :]):
        if any(_touched(analysis, masked, step, p) for step, p in steps):
            return None
        return Revived(tensor, masked.op, steps[0][0], len(steps))
    averages = _averages(analysis, tensor, masked, steps)
    return Revived(tensor, masked.op, steps[0][0], len(steps), averages) if averages else None


def _kept_by_hand(analysis: Analysis, tensor: int, masked: _Masked) -> bool:
    """Whether the program writes to the parameter again, masked or as it was, or multiplies it by a mask in a forward."""
    capture = analysis.capture
    storages = {masked.storage, capture.tensors[tensor].storage}
    for op in capture.ops[masked.op.index + 1 :]:
        if op.has(_ASIDE):
            continue
        if any(write.tensor == tensor or write.storage in storages for write in op.writes):
            return True
        own = [t for t in op.inputs if t == tensor or capture.tensors[t].storage in storages]
        if own and is_a(op.name, _APPLIES) and any(is_mask(analysis, t, op.index) for t in op.inputs if t not in own):
            return True
    return False


def _applied(analysis: Analysis, op: Op, masked: _Masked) -> bool:
    """Whether an op multiplies something else by that very mask: a gradient."""
    tensors = analysis.capture.tensors
    return (
        not op.has(Trait.STEP)
        and is_a(op.name, _APPLIES)
        and any(t == masked.mask or tensors[t].storage == tensors[masked.mask].storage >= 0 for t in op.inputs)
    )


def _touched(analysis: Analysis, masked: _Masked, step: Step, p: ParameterStep) -> bool:
    """Whether the program set, or multiplied by a mask, a part of the gradient: of another mask nothing is known."""
    capture = analysis.capture
    gradients = analysis.gradients.get(p.tensor, frozenset())
    if any(write.gradient >= 0 and write.at > masked.op.index for write in analysis.timeline.writes_of(p.tensor).all):
        return True
    if any(hook.tensor == p.tensor for hook in capture.tensor_hooks):
        return True
    storages = {capture.tensors[t].storage for t in (*gradients, p.gradient) if capture.tensors[t].storage >= 0}
    writes = (op for storage in storages for op, _ in analysis.writes_in(storage, masked.op.index, step.op))
    return any(
        (is_a(op.name, OpKind.SETS_NUMBER) and not is_a(op.name, OpKind.ZEROES))
        or (is_a(op.name, _APPLIES) and any(is_mask(analysis, t, op.index) for t in op.inputs))
        for op in writes
        if not op.has(Trait.STEP)
    )


def _averages(
    analysis: Analysis, tensor: int, masked: _Masked, steps: list[tuple[Step, ParameterStep]]
) -> tuple[str, ...]:
    """The averages of earlier gradients that the first step had, where nothing but steps writes to them."""
    capture = analysis.capture
    first, p = steps[0]
    earlier = [
        step
        for step in analysis.timeline.steps_of(first.optimizer).before(masked.op.index)
        if any(q.tensor == tensor and q.gradient >= 0 for q in step.parameters)
    ]
    if not earlier or p.begun:
        return ()
    names: list[str] = []
    for row in capture.placement.rows_of.get(first.optimizer, ()):
        for entry in row.state if row.tensor == tensor else ():
            if entry.name in AVERAGES:
                writes = analysis.writes_to(entry.storage, entry.tensor, masked.op.index, len(capture.ops))
                if any(not op.has(Trait.STEP) for op, _ in writes):
                    return ()
                names.append(entry.name)
    return tuple(names)
