"""What torch refused to compile, or to run, told as where the same code runs as it is written.

The graph is run once without data, up to the op that torch refused. Where it was the backend that failed because a
saved tensor is modified, what it differentiated is differentiated again: so autograd names both, with their lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograd_inspector.capture.compiled.plan import Step
from autograd_inspector.capture.compiled.refused import Refused
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.observers.compiled.apart import apart
from autograd_inspector.capture.observers.compiled.described import described
from autograd_inspector.capture.observers.compiled.interpreter import Calls, Interpreter
from autograd_inspector.capture.observers.compiled.shadow import Shadow, can_stand_in
from autograd_inspector.capture.recording.raw_records import OP_ERROR
from autograd_inspector.capture.tensors.attributes import needs_grad
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction, EnableTorchFunction
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import text_of
from autograd_inspector.model.torch_errors import TorchError, says


class Refusals:
    """Of one capture: the last graph that was refused, until the call that raises of it is over."""

    def __init__(self, recorder: Recorder, modules: Calls, opens: Callable[[], None]) -> None:
        self._recorder = recorder
        self._modules = modules
        self._opens = opens
        self._met: Refused | None = None

    def meet(self, graph: Refused) -> None:
        """A graph is refused."""
        self._met = graph

    def over(self) -> None:
        """No compiled call runs any more."""
        self._met = None

    def tell(self, error: BaseException, start: int, outer: int) -> bool:
        """Whether what a call raised is the error of some op, or of a backward, that began after ``start`` ops."""
        graph, self._met = self._met, None
        if graph is not None and graph.error is error and can_stand_in(graph.args):
            try:
                with apart(self._recorder), EnableTorchFunction():
                    if self._describe(graph, outer):
                        return True
            except Exception as failure:
                if is_interrupt(failure):
                    raise
        text = text_of(error)
        return any(op[OP_ERROR] and op[OP_ERROR] in text for _, op in self._recorder.recording.ops.items(start))

    def _describe(self, graph: Refused, outer: int) -> bool:
        shadow = Shadow(self._recorder.recording, graph.args)
        interpreter = Interpreter(self._recorder, self._modules, graph.plan, graph.scope)
        refusing = _Refusing(graph)
        self._opens()
        interpreter.refuses = refusing
        try:
            results = described(self._recorder, interpreter, graph.plan, shadow, outer)
        except Exception:
            if not refusing.met:
                raise
            return True
        if not says(text_of(graph.error), TorchError.MODIFIED_IN_PLACE):
            return False
        return _raises(_differentiating(shadow, results))


class _Refusing:
    """Tells the step that torch refused: the last one of a graph that was not captured whole, or by its words."""

    def __init__(self, graph: Refused) -> None:
        self._last = graph.plan.steps[graph.op] if graph.op >= 0 else None
        self._text = text_of(graph.error)
        self.met = False

    def __call__(self, step: Step, failure: Exception) -> bool:
        self.met = step is self._last or text_of(failure) in self._text
        return self.met


def _differentiating(shadow: Shadow, results: Any) -> Callable[[], None]:
    """The backward of all that a graph returns, as a backend traces it."""
    tensors: list[Tensor] = []
    gather((results,), tensors)
    roots = [each for each in tensors if needs_grad(each)]

    def differentiate() -> None:
        with DisableTorchFunction(), shadow.mode:
            torch.autograd.backward(roots, [torch.ones_like(each) for each in roots])

    return differentiate


def _raises(call: Callable[[], None]) -> bool:
    try:
        call()
    except Exception as failure:
        if is_interrupt(failure):
            raise
        return True
    return False
