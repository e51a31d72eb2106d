"""The captures of a training run: one around each chosen step, one over all the others between two of those.

The latter is a flight recorder. Any step may raise, so each is recorded; what a capture costs when it begins and ends
(observers in place, models and lines met) is paid once for several steps. It is dropped, and another begun, before its
older steps would have to be folded, which costs more than a new capture.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from torch import nn
from torch.optim import Optimizer

from autograd_inspector.capture.observers.optimizers.placement import unwrapped
from autograd_inspector.capture.retention.folding import WHOLE_IN_FLIGHT
from autograd_inspector.capture.session import Session
from autograd_inspector.capture.undisturbed.holding import Held
from autograd_inspector.capture.vitals.collector import Vitals
from autograd_inspector.integrations.options import Options
from autograd_inspector.interrupts import is_interrupt

MOST_OPS: Final = 10_000
"""A capture that holds so many is followed by a new one. What it costs to begin that is little beside so many ops."""


class StepCaptures:
    """The capture that is open, if any; ``held``: whether it can still be closed. ``vitals`` goes on between steps."""

    def __init__(self, held: Held, options: Options, vitals: Vitals | None) -> None:
        self.session: Session | None = None
        self._held = held
        self._options = options
        self._vitals = vitals
        self._steps = 0
        """That the open capture has recorded in whole."""
        self._lasting = False

    @property
    def goes_on(self) -> bool:
        """Whether the open capture is to record a further step that nobody chose."""
        session = self.session
        if session is None or session.over or session.failure or not self._lasting:
            return False
        return self._steps < WHOLE_IN_FLIGHT and session.recording.ops.kept < MOST_OPS

    def begin(self, step: int, models: Iterable[nn.Module], optimizers: Iterable[Any], *, lasting: bool) -> None:
        """Record that step, in the open capture or in a new one; ``lasting``: and those that follow."""
        if self._vitals is not None:
            self._vitals.before, self._vitals.one_step = step - 1, True
        if self.session is None:
            self._open(step, lasting=lasting)
        inner = map(unwrapped, optimizers)
        if self.session is not None:
            known = [optimizer for optimizer in inner if isinstance(optimizer, Optimizer)]
            self.session.introduce(models, known, lasting=True)

    def ended(self) -> None:
        """The step is over; a capture that goes on is left open."""
        self._steps += 1
        if self._vitals is not None and self.session is not None:
            self._vitals.finish((), ran=False, saved=())

    def close(self) -> None:
        """Forget what is open."""
        session = self.session
        if session is None:
            return
        try:
            if self._vitals is not None:
                self._vitals.finish((), ran=False, saved=())
            session.abandon()
        except Exception as failure:
            if is_interrupt(failure):
                raise  # What is open stays known: it is closed later.
            self.session = None  # It would fail again.
            raise
        self.session = None  # Not before: an interrupt may have struck, and the next event ends it then.

    def _open(self, step: int, *, lasting: bool) -> None:
        self._steps, self._lasting = 0, lasting
        session = self.session = Session(
            values=self._options.get("values", False),
            yields=True,
            vitals=self._vitals,
            eager=self._options.get("compiled") == "eager",
            flight=lasting,
        )
        session.start(held=self._held)
        if lasting:
            session.recording.note(f"The capture began with step {step:,} of the training.")
