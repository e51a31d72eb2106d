"""Where a tensor has its dtype or its device from: a conversion or a load of parameters, or the op that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ModelLoaded, ParametersConverted
from autograd_inspector.model.tensor import TensorRecord

Property = Callable[[TensorRecord], str]


class Origin(Struct, frozen=True):
    """The tensor that had it first; ``event``: what gave it to that parameter; ``made``: the op that returned it."""

    tensor: int
    made: Op | None = None
    event: ModelLoaded | ParametersConverted | None = None


class Origins:
    """Those of the tensors of a capture."""

    def __init__(self, capture: Capture, flow: DataFlow) -> None:
        self._capture = capture
        self._flow = flow
        self._events: dict[int, ModelLoaded | ParametersConverted] = {}
        for event in capture.events:
            if isinstance(event, ParametersConverted) or (isinstance(event, ModelLoaded) and event.assign):
                self._events |= dict.fromkeys(event.tensors, event)

    def of(self, tensor: int, value: Property) -> Origin:
        """By way of the ops that hand a dtype, or a device, on to their result."""
        tensors, met = self._capture.tensors, set[int]()
        while tensor not in met:
            met.add(tensor)
            if tensors[tensor].of_model:
                return Origin(tensor, event=self._events.get(tensor))
            made = self._flow.birth(tensor)
            same = [] if made is None else [t for t in made.inputs if value(tensors[t]) == value(tensors[tensor])]
            if made is None or not same:
                return Origin(tensor, made)
            tensor = self._altered(same) if same else tensor
        return Origin(tensor)

    def _altered(self, tensors: Iterable[int]) -> int:
        """Of the operands that have it the parameter that was given it, else the first."""
        operands = list(tensors)
        return next((t for t in operands if t in self._events), operands[0])
