"""Which ops let no gradient back through, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Region, Trait

Cause = Literal["detached", "no_grad", "inference_mode", "non-differentiable", "left autograd", "collective"]
Cut = tuple[Op, int]

SAMPLING = "torch.distributions"


class GradientCut(Struct, frozen=True):
    """Ops that cut gradient for one reason: one grad-mode region, or one line.

    ``parameters`` are the tensors meant to learn that the cut keeps from learning, ``backward`` the engine run that
    showed it. ``fatal``: that run raised because of it. ``added``: what was cut is one term of the loss, which that op
    adds; the parameters may learn from the others. -1 where nothing else reaches them. ``partial``: the parameters
    learn from the same loss by other ways. ``kept``: what was computed behind the cut and all losses since then use,
    where the parameters learnt before.
    """

    cause: Cause
    ops: tuple[Op, ...]
    through: tuple[int, ...]
    parameters: tuple[int, ...]
    backward: Backward
    fatal: bool
    added: int = -1
    partial: bool = False
    kept: tuple[int, ...] = ()


def is_cut(capture: Capture, op: Op, through: int) -> bool:
    """Gradient that would come back through this result of the op goes no further."""
    if op.has(Trait.CUT):
        return hands_on(capture, op)
    if is_a(op.name, OpKind.REWRAPS):  # With requires_grad=True the copy is a leaf of its own.
        return through in op.outputs and any(capture.tensors[tensor].requires_grad for tensor in _rewrapped(op))
    if op.name == "set_data":
        return any(capture.tensors[tensor].requires_grad for tensor in op.inputs)
    if _wrapped(capture, op, through) or bypassed(capture, op, through) or copied_in(capture, op, through):
        return True
    made_nodes = op.recorded
    return made_nodes and through in op.outputs and not differentiable(capture.tensors[through].dtype)


def hands_on(capture: Capture, op: Op) -> bool:
    """Whether values go on through an op that gradient does not come back through.

    One that takes only the shape of its input passes no value on. The backward of a custom Function computes with the
    saved tensors under no_grad, as it should.
    """
    if is_a(op.name, OpKind.TAKES_SHAPE_ONLY) and not (is_a(op.name, OpKind.REWRAPS) and _rewrapped(op)):
        return False
    return not op.has(Trait.BACKWARD) or capture.regions[op.region].kind == "enabled"


def _rewrapped(op: Op) -> tuple[int, ...]:
    """The tensors whose values are in a copy: ``full_like(x, value)`` takes only the shape of its first input."""
    return op.inputs[1:] if is_a(op.name, OpKind.TAKES_SHAPE_ONLY) else op.inputs


def _wrapped(capture: Capture, op: Op, through: int) -> bool:
    """``nn.Parameter(t)`` made a new leaf of what the op returned, without any torch call."""
    return through in capture.wrapped and through not in op.outputs


def copied_in(capture: Capture, op: Op, through: int) -> bool:
    """``weight.copy_(computed)`` where nothing is recorded: the weight requires grad, its values have no history."""
    if capture.regions[op.region].kind == "enabled" or all(write.tensor != through for write in op.writes):
        return False
    return any(capture.tensors[tensor].requires_grad for tensor in op.inputs if tensor != through)


def bypassed(capture: Capture, op: Op, through: int) -> bool:
    """``w.data += update``: the memory of ``w`` has new values, and the history of the update stays with the alias."""
    tensors = capture.tensors
    written = [tensors[write.tensor] for write in op.writes]
    if not written or through in op.outputs or any(record.id == through for record in written):
        return False
    apart = all(record.counter != tensors[through].counter for record in written)
    return (apart or not tensors[through].requires_grad) and any(tensors[t].requires_grad for t in op.inputs)


def differentiable(dtype: str) -> bool:
    """Autograd follows floating and complex tensors only."""
    return dtype.startswith(("float", "bfloat", "complex"))


def cause_of(capture: Capture, op: Op, through: int) -> Cause:
    """Why the op cuts."""
    region = capture.regions[op.region]
    if is_a(op.name, OpKind.DETACHES) and _exported(capture, op):
        return "left autograd"
    # load_state_dict() switches grad mode off by itself: there is no block to move out of.
    loaded = region.library != "" and copied_in(capture, op, through)
    detaches = is_a(op.name, OpKind.DETACHES) and not _off(op, region)
    if detaches or loaded or _wrapped(capture, op, through) or bypassed(capture, op, through):
        return "detached"
    if op.has(Trait.COLLECTIVE):
        return "collective"
    if is_a(op.name, OpKind.REWRAPS) or op.has(Trait.EXPORT):
        return "left autograd"
    sampled = region.library.startswith(SAMPLING)
    # Within the forward of another Function torch has switched grad mode off: that is no block of the program's.
    if region.kind == "enabled" or sampled or (op.has(Trait.FUNCTION) and region.library == "torch.autograd"):
        return "non-differentiable"
    return region.kind if differentiable(capture.tensors[through].dtype) else "non-differentiable"


def _off(op: Op, region: Region) -> bool:
    """Whether a gradient has no graph because grad mode was off: torch.func asks for one wherever it is on."""
    return op.name == "grad" and region.kind != "enabled"


def _exported(capture: Capture, op: Op) -> bool:
    """``x.detach().numpy()``: the detached tensor only went where no graph can follow, and no backward began at it."""
    if not capture.begun.isdisjoint(op.outputs):
        return False
    later = dict.fromkeys(index for tensor in op.outputs for index in capture.readers.get(tensor, ()))
    readers = [capture.ops[index] for index in later if index > op.index]
    return bool(readers) and all(
        later.has(Trait.EXPORT)
        or is_a(later.name, OpKind.REWRAPS)
        or (later.name == "cpu" and _exported(capture, later))
        for later in readers
    )


def learning(capture: Capture, op: Op) -> Iterator[int]:
    """What an op read that may learn: leaves that required grad then, as a discriminator does in its own step."""
    changes = capture.changes_of
    return (
        tensor
        for tensor in op.inputs
        if (
            _is_leaf(capture, tensor) and capture.requires_grad_at(tensor, op.index)
            if tensor in changes
            else may_learn(capture, tensor)
        )
    )


def may_learn(capture: Capture, tensor: int) -> bool:
    """Whether a tensor is a leaf that requires grad: gradient ends there."""
    return capture.tensors[tensor].requires_grad and _is_leaf(capture, tensor)


def _is_leaf(capture: Capture, tensor: int) -> bool:
    record = capture.tensors[tensor]
    return record.leaf or record.kind == "parameter" or tensor in capture.optimized


def is_origin(capture: Capture, tensor: int) -> bool:
    """Whether gradient is meant to end there: at a leaf that no cut has made one."""
    birth = capture.tensors[tensor].birth
    return may_learn(capture, tensor) and (birth < 0 or not capture.ops[birth].has(Trait.CUT))
