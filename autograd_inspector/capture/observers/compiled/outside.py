"""What leaves torch within a compiled graph and comes back: recorded as it is where the same code runs uncompiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograd_inspector.capture.compiled.leaving import LEAVES, OUTSIDE, RETURNS
from autograd_inspector.capture.compiled.module_sources import Scope, value_of
from autograd_inspector.capture.compiled.plan import Made, Ref, Step
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.exports import rejoin
from autograd_inspector.capture.recording.raw_records import OP_INPUTS
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad
from autograd_inspector.capture.torch_private.compiled import tensor_of_tensors
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction
from autograd_inspector.model.op import Trait


def number_behind(step: Step, scope: Scope) -> float | None:
    """The number that the code has where a graph is given a tensor, since that number is another one each time."""
    made = step.made
    if not isinstance(made, Made) or made.shape or made.dtype is not torch.float64 or made.requires_grad:
        return None
    value = value_of(step.source, scope)
    return value if type(value) is float else None


class Outside:
    """Of one run of a graph."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._left: dict[int, int] = {}
        """Step -> the op by which what it has left torch."""
        self._wrapped: set[int] = set()
        """Steps that are a number of the code's, given as a tensor."""

    def wrap(self, number: int, export: int | None) -> None:
        """A step is given a number as a tensor. ``export``: the op by which that left torch before."""
        self._wrapped.add(number)
        if export is not None:
            self._left[number] = export

    def unwraps(self, step: Step) -> bool:
        """Whether a step only takes such a number out of its tensor again, which the code does not."""
        given = step.args[0] if self._wrapped and step.role.startswith(LEAVES) else None
        return type(given) is Ref and given.step in self._wrapped

    def make(self, number: int, step: Step, args: Any, make: Callable[[], Any]) -> Any:
        """The result of a step that takes values out of torch, computes with them, or brings them back."""
        recording = self._recording
        with DisableTorchFunction():
            result = make()
            source = self._source(step)
            if step.role.startswith(LEAVES) and not self.unwraps(step):
                self._left[number] = self._leave(step, args)
                return result
            if not step.role.startswith(RETURNS):
                if source >= 0:
                    self._left[number] = source
                return result
            index = len(recording.ops)
            tensors: list[Tensor] = []
            gather((result,), tensors)
            outputs = tuple([recording.registry.enter(each, index, index).tensor for each in tensors])
            name = "tensor" if step.target in (torch.tensor, tensor_of_tensors()) else "from_numpy"
            recording.append(name, outputs=outputs, site=recording.stacks.here())
            if source >= 0:
                rejoin(recording, index, recording.ops[source][OP_INPUTS])
        return result

    def follow(self, number: int, step: Step, *, recorded: bool) -> None:
        """A step ran as the program's own: it may have taken a number out of torch, or have been given such a one."""
        recording, source = self._recording, self._source(step)
        last = len(recording.ops) - 1
        if step.role.startswith(LEAVES) and recorded:
            self._left[number] = last
        elif source < 0:
            return
        elif step.role.startswith(OUTSIDE):
            self._left[number] = source
        elif recorded and not step.role.startswith(RETURNS):
            recording.scalar_reentries.append((last, source))
        elif recorded and not recording.ops[last][OP_INPUTS]:
            rejoin(recording, last, recording.ops[source][OP_INPUTS])

    def _leave(self, step: Step, args: Any) -> int:
        recording = self._recording
        name = step.target if step.target != "view_as" else "numpy"
        given: list[Tensor] = []
        gather(args[:1], given)
        traits = int(Trait.EXPORT) | (int(Trait.CUT) if any(map(needs_grad, given)) else 0)
        inputs = tuple([recording.id_of(each) for each in given])
        return recording.append(name, inputs, traits=traits, site=recording.stacks.here())

    def _source(self, step: Step) -> int:
        todo = [step.args, step.kwargs]
        while self._left and todo:
            each = todo.pop()
            if isinstance(each, (tuple, list)):
                todo += each
            elif isinstance(each, dict):
                todo += each.values()
            elif type(each) is Ref and each.step in self._left:
                return self._left[each.step]
        return -1
