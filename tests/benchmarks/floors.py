"""What of an observed step's cost is a floor: observers that do less than any report needs, and ours without a part.

``Called`` is told of each torch call and does nothing. ``Lined`` does the least that a report on lines can be made of:
per call it tells the tensors apart and notes their versions, the result and the innermost line, no caller; per
backward it meets each node once. What an ablated capture lacks is what the part costs; nothing is read of it, so it
may be wrong.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograd_inspector.capture.graph_walk.walk import Walk
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.capture.observers.modules.entering import ModuleCalls
from autograd_inspector.capture.observers.optimizers.known import Optimizers
from autograd_inspector.capture.recording.recorded_nodes import Walked
from autograd_inspector.capture.session import Session

from .clock import Timing, Work, interleaved, seconds
from .display import Row, Section, milliseconds, progress
from .small_steps import STEPS, Step

PLAIN, CALLED, LINED, OURS = "plain step", "told of each call", "line, tensors, versions, nodes", "inspected"
_PARTS: dict[str, Callable[[], Any]] = {
    "inspected, no graph walk": lambda: patch.object(Walk, "_walk", lambda *_: Walked((), ())),
    "inspected, no lines": lambda: patch.object(Stacks, "at", lambda *_: 0),
    "inspected, no module calls": lambda: patch.multiple(
        ModuleCalls, before=lambda *_, **__: None, after=lambda _, __, result: result
    ),
    "inspected, no optimizer state": lambda: patch.object(Optimizers, "snapshot", lambda *_: None),
}


class Called(TorchFunctionMode):
    """The floor of every observer in Python."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


class Lined(TorchFunctionMode):
    """The floor of one whose findings name lines, tensors and what modified them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []
        self.nodes: list[Any] = []
        self._numbers: dict[int, tuple[int, Any]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is Tensor.backward:
            self._walk(args[0].grad_fn)
        tensors = (
            [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
            if kwargs
            else [value for value in args if isinstance(value, Tensor)]
        )
        before = [tensor._version for tensor in tensors]
        result = func(*args, **(kwargs or {}))
        after = [tensor._version for tensor in tensors]
        made = self._number(result) if isinstance(result, Tensor) else -1
        inputs = [self._number(tensor) for tensor in tensors]
        frame = sys._getframe(1)
        self.calls.append((func, inputs, made, before, after, frame.f_code, frame.f_lasti))
        return result

    def _number(self, tensor: Tensor) -> int:
        known = self._numbers.get(id(tensor))
        if known is None or known[1]() is not tensor:
            facts = tensor.shape, tensor.dtype, tensor.requires_grad, tensor.untyped_storage().data_ptr()
            known = self._numbers[id(tensor)] = len(self._numbers), weakref.ref(tensor)
            self.nodes.append(facts)
        return known[0]

    def _walk(self, root: Any) -> None:
        todo, seen = [root], {root}
        while todo:
            node = todo.pop()
            self.nodes.append((node.name(), node._sequence_nr()))
            for child, _ in node.next_functions:
                if child is not None and child not in seen:
                    seen.add(child)
                    todo.append(child)


@contextmanager
def _observed() -> Iterator[None]:
    session = Session().start(held=lambda: True)
    try:
        yield
    finally:
        session.abandon()


def measure(*, quick: bool) -> list[Section]:
    """Each step of ``small_steps``: plain, under the floors, inspected, and inspected without one part."""
    rounds = 3 if quick else 10
    sections = []
    for name, (made, _) in STEPS.items():
        progress(f"floors of {name}, {rounds} rounds")
        timings = interleaved(_works(made()), rounds)
        floor, ours = timings[PLAIN], timings[OURS]
        rows = [_row(which, timing, floor, ours) for which, timing in timings.items()]
        sections.append(Section(f"What a step of {name} costs at least", PLAIN, tuple(rows)))
    return sections


def _row(which: str, timing: Timing, floor: Timing, ours: Timing) -> Row:
    added = timing.best - floor.best
    figure = milliseconds(floor.best) if which == PLAIN else f"{milliseconds(added)} added"
    if which in _PARTS:
        figure += f", the part {milliseconds(ours.best - timing.best)}"
    return Row(which, timing.times(floor), timing.typical(floor), figure)


def _works(step: Step) -> dict[str, Work]:
    def under(observer: Callable[[], Any]) -> Work:
        def work() -> float:
            with observer():
                return seconds(step)

        return work

    def without(part: Callable[[], Any]) -> Work:
        def work() -> float:
            with part(), _observed():
                return seconds(step)

        return work

    return {
        PLAIN: lambda: seconds(step),
        CALLED: under(Called),
        LINED: under(Lined),
        OURS: under(_observed),
        **{name: without(part) for name, part in _PARTS.items()},
    }
