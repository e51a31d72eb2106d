"""The gradients that compiled code reads: Dynamo gives each of them to the graph as an input, ``L['p'].grad``."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograd_inspector.capture.compiled.module_sources import Scope, value_of
from autograd_inspector.capture.compiled.plan import Plan, Step
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import is_leaf, retains_grad
from autograd_inspector.model.event import GradRead

_GRAD = ".grad"


def grad_read(recording: Recording, plan: Plan, number: int, value: Any, scope: Scope, outer: int) -> None:
    """Note that the code read a gradient, if that is what an input is, at the line that computes with it first.

    What torch's own code does with gradients, as in clipping them, is no reading by the program.
    """
    source = plan.steps[number].source
    owner = value_of(source.removesuffix(_GRAD), scope) if source.endswith(_GRAD) else None
    if not isinstance(owner, Tensor) or not isinstance(value, Tensor):
        return
    reader: Step | None = plan.readers.get(number)
    if reader is None or reader.torchs:
        return
    leaf = is_leaf(owner)
    site = recording.stacks.of_frames(reader.frames, outer) if reader.frames else outer
    numbers = recording.id_of(owner), recording.id_of(value)
    recording.grad_reads.append(GradRead(len(recording.ops), *numbers, site, leaf, not leaf and retains_grad(owner)))
