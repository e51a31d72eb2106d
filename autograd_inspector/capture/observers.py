"""All observers of a capture, installed and taken away together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol

from autograd_inspector.capture.calls.ops import Recorder


class Observer(Protocol):
    """What can be put in place, and leaves no trace when its context ends."""

    def installed(self) -> AbstractContextManager[None]:
        """Observe inside."""


class Observers:
    """The process-wide ones, and the recorder, which is its thread's own."""

    def __init__(self, everywhere: Sequence[Observer], recorder: Recorder) -> None:
        self._everywhere = tuple(everywhere)
        self._recorder = recorder
        self._stack = ExitStack()
        self._thread = ExitStack()
        self._away = 0

    def install(self) -> None:
        """Put all in place, or none when one fails."""
        with ExitStack() as stack:
            self._install_everywhere()
            stack.callback(self._stack.close)
            self._thread.enter_context(self._recorder.installed())
            stack.pop_all()

    def _install_everywhere(self) -> None:
        with ExitStack() as stack:
            for observer in self._everywhere:
                stack.enter_context(observer.installed())
            self._stack = stack.pop_all()

    def remove(self) -> None:
        """Take all away."""
        try:
            self._thread.close()
        finally:
            self._stack.close()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nothing is installed inside: what runs there would otherwise trace or compile the observers, too."""
        self._away += 1
        if self._away == 1:
            self._stack.close()
        try:
            with self._recorder.away():
                yield
        finally:
            self._away -= 1
            if self._away == 0 and not self._recorder.tape.closed:
                self._install_everywhere()
