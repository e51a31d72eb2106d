"""All observers of a capture, installed and taken away together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from autograd_inspector.capture.observers.calls.mode_stack import put_on, take_off
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.undisturbed.installing import Installation, Observer


class Observers:
    """The process-wide ones, and the recorder, which is its thread's own."""

    def __init__(self, everywhere: Sequence[Observer], recorder: Recorder) -> None:
        self.recorder = recorder
        self._everywhere = tuple(everywhere)
        self._installation = Installation()
        self._away: list[object] = []

    def install(self, into: Installation) -> None:
        """Put all in place."""
        into.made(self._installation.take_back)
        self._install_everywhere()
        into.made(partial(take_off, self.recorder))
        put_on(self.recorder)

    def _install_everywhere(self) -> None:
        self._installation.take_back()
        for observer in self._everywhere:
            observer.install(self._installation)

    def leave(self, call: object) -> None:
        """Nothing is installed while that call runs: it would trace or compile the observers, too."""
        self._away.append(call)
        self._installation.take_back()

    def come_back(self, call: object) -> None:
        """The call is over, and with it those inside. Right whether or not they had left for it."""
        place = next((place for place, each in enumerate(self._away) if each is call), len(self._away))
        del self._away[place:]
        if not self._away and not self.recorder.recording.closed:
            self._install_everywhere()
