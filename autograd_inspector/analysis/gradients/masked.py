"""Parts of a parameter that are to stay as they are: the program zeroes their gradients, and weight decay moves them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import writes_into
from autograd_inspector.analysis.memory.masks import is_mask
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.settings import is_off

_FEWEST = 2


class MaskedGradient(Struct, frozen=True):
    """``zeroed`` set a part of the gradient of ``tensor`` to zero before ``step``, which decays all of it."""

    tensor: int
    zeroed: Op
    step: Step


def decayed_all_the_same(analysis: Analysis) -> Iterator[MaskedGradient]:
    """Each parameter once, if all its steps are like that.

    Zeros decay to zeros: of a parameter that the program has set to zero in part, or that was there before, it is not
    known what lies there. What is written to it behind the step may be the old values.
    """
    capture = analysis.capture
    found: dict[int, list[MaskedGradient]] = {}
    for step in capture.steps:
        optimizer = capture.placement.optimizers[step.optimizer]
        for p in step.parameters if optimizer.module.startswith("torch.optim.") else ():
            decays = 0 <= p.group < len(optimizer.groups) and not is_off(optimizer.groups[p.group].get("weight_decay"))
            if p.gradient < 0 or p.frozen or step.error or not decays:
                continue
            run = next(analysis.timeline.backwards_to(p.tensor).before(step.at + 1), None)
            since = -1 if run is None else run.end
            zeroed = [op for op, _ in writes_into(analysis, p.gradient, since, step.at) if _zeroes_a_part(analysis, op)]
            zeroed = zeroed or ([] if run is None else _masked_in_hooks(analysis, p, run))
            found.setdefault(p.tensor, []).extend(MaskedGradient(p.tensor, op, step) for op in zeroed[-1:])
    for tensor, steps in found.items():
        all_steps = [s for s in capture.steps if any(p.tensor == tensor and p.gradient >= 0 for p in s.parameters)]
        if len(steps) == len(all_steps) >= _FEWEST and _known(analysis, tensor, all_steps[0]):
            yield steps[-1]


def _zeroes_a_part(analysis: Analysis, op: Op) -> bool:
    given = analysis.capture.given.get(op.index, {})
    return op.name == "__setitem__" and "whole" not in given and 0 in given.values() and not op.has(Trait.BACKWARD)


def _masked_in_hooks(analysis: Analysis, p: ParameterStep, run: Backward) -> list[Op]:
    """What multiplies by a mask, in a hook of the parameter, and returns the gradient that the step uses."""
    tensors = analysis.capture.tensors
    memory = tensors[p.gradient].storage
    if not any(hook.tensor == p.tensor and hook.at <= run.start for hook in analysis.capture.tensor_hooks):
        return []
    return [
        op
        for op in analysis.capture.ops[run.start : run.end]
        if op.has(Trait.BACKWARD)
        and is_a(op.name, OpKind.MULTIPLIES)
        and any(tensors[t].storage == memory >= 0 for t in op.outputs)
        and any(is_mask(analysis, t, op.index) for t in op.inputs)
    ]


def _known(analysis: Analysis, tensor: int, first: Step) -> bool:
    """Whether the program made the parameter here, set no part of it to zero, and leaves it to the steps."""
    capture = analysis.capture
    record = capture.tensors[tensor]
    made = analysis.lifecycle.registrations(tensor)
    writes = [op for op, _ in analysis.writes_to(record.storage, tensor, 0, len(capture.ops)) if not op.has(Trait.STEP)]
    return bool(made) and not any(op.index > first.op or _zeroes(analysis, op) for op in writes)


def _zeroes(analysis: Analysis, op: Op) -> bool:
    """Whether zeros were written, or numbers multiplied, perhaps by zeros."""
    given = analysis.capture.given.get(op.index, {})
    return is_a(op.name, OpKind.ZEROES | OpKind.MULTIPLIES) or (0 in given.values() and not is_a(op.name, OpKind.DRAWS))
