"""What the backward of a custom autograd.Function returned: for which inputs that need a gradient it gave None."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.guard import Guard
from autograd_inspector.capture.patches import replaced
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import Gap


class CustomBackward:
    """Observes, for one capture, the call through which the engine runs a Function's backward."""

    def __init__(self, tape: Tape, guard: Guard) -> None:
        self.tape = tape
        self._guard = guard

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put the wrapper in place, and the original back on exit."""
        original = BackwardCFunction.__dict__["apply"]

        @functools.wraps(original)
        def apply(node: Any, *gradients: Any) -> Any:
            result = original(node, *gradients)
            if self.tape.here():
                self._guard(self._returned, node, result)
            return result

        with replaced(BackwardCFunction, "apply", apply):
            yield

    def _returned(self, node: Any, result: Any) -> None:
        given = result if isinstance(result, (tuple, list)) else (result,)
        needed = node.needs_input_grad
        wanted = [gradient for gradient, need in zip(given, needed, strict=False) if need]
        missing = tuple(number for number, gradient in enumerate(wanted) if gradient is None)
        if missing:
            self.tape.gaps.append(Gap(node._sequence_nr(), missing))
