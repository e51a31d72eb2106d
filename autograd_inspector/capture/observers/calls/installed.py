"""All observers of a capture, installed and taken away together."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from operator import call

from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.undisturbed.installing import Installation, Observer
from autograd_inspector.capture.undisturbed.mode_stack import put_on, take_off


class Observers:
    """The process-wide ones, and the recorder, which is its thread's own. ``beneath``: what nothing can trace."""

    def __init__(self, everywhere: Sequence[Observer], recorder: Recorder, beneath: Sequence[Observer] = ()) -> None:
        self.recorder = recorder
        self._beneath = tuple(beneath)
        self._everywhere = tuple(everywhere)
        self._installation = Installation()
        self._away: list[tuple[int, object]] = []
        """(thread, call) of the calls that run without them."""
        self._over = False
        self._turn = threading.RLock()

    def install(self, into: Installation) -> None:
        """Put all in place."""
        into.made(partial(self._alone, self._end))
        for observer in self._beneath:
            observer.install(into)
        self._install_everywhere()
        into.made(partial(take_off, self.recorder))
        put_on(self.recorder)

    def _install_everywhere(self) -> None:
        self._installation.take_back()
        for observer in self._everywhere:
            observer.install(self._installation)

    def _end(self) -> None:
        self._over = True
        self._installation.take_back()

    def leave(self, call: object) -> None:
        """Nothing is installed while that call runs: it would trace or compile the observers, too."""
        self._alone(partial(self._leave, threading.get_ident(), call))

    def _leave(self, thread: int, call: object) -> None:
        self._away.append((thread, call))
        self._installation.take_back()

    def come_back(self, call: object) -> None:
        """The call is over, and with it those inside. Right whether or not they had left for it."""
        self._alone(partial(self._come_back, threading.get_ident(), call))

    def _come_back(self, thread: int, call: object) -> None:
        place = next((place for place, (_, each) in enumerate(self._away) if each is call), len(self._away))
        self._away[place:] = [each for each in self._away[place:] if each[0] != thread]
        if not self._away and not self._over and not self.recorder.recording.closed:
            self._install_everywhere()

    def _alone(self, step: Callable[[], None]) -> None:
        """Other threads wait: a call of theirs may begin or end while this one does."""
        held: list[object] = []
        turn: list[Callable[[], object]] = [self._turn.acquire, partial(held.append, self)]
        try:
            # In a single call of C code: an interrupt must not strike with the lock in nobody's hands.
            deque(map(_run, turn), maxlen=0)
            step()
        finally:
            if held:
                self._turn.release()


_run: Callable[[Callable[[], object]], object] = call
