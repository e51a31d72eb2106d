"""Steps that an interrupt must not cut in two: it waits until they are done."""

from __future__ import annotations

import _thread
from collections.abc import Callable

from autograd_inspector.capture.torch_private.modes import DisableTorchFunction
from autograd_inspector.interrupts import is_interrupt


def uninterrupted(step: Callable[[], None]) -> None:
    """Run a step of the inspector's, and raise an interrupt that strikes meanwhile when it is done.

    Python calls signal handlers in the main thread alone, so the step runs in another. That takes some 0.1 ms: for what
    changes many records at once, and is right only when it is done with all.
    """
    run = _Run(step)
    try:
        run.wait()
    except BaseException:
        run.wait()
        raise
    if run.failure is not None:
        raise run.failure


class _Run:
    def __init__(self, step: Callable[[], None]) -> None:
        self.failure: BaseException | None = None
        self._step = step
        self._started = self._done = False
        self._running = _thread.allocate_lock()
        self._running.acquire()

    def wait(self) -> None:
        """Until the step is done, which is begun if need be; an interrupt is raised then, the last of several."""
        struck: BaseException | None = None
        while not self._done:
            try:
                if not self._started:
                    self._started = True
                    _thread.start_new_thread(self._begin, ())
                self._running.acquire()
            except RuntimeError as refused:
                if is_interrupt(refused):
                    struck = refused
                else:  # There can be no further thread.
                    self._begin()
            except BaseException as interrupt:
                struck = interrupt
        if struck is not None:
            raise struck

    def _begin(self) -> None:
        try:
            with DisableTorchFunction():
                self._step()
        except BaseException as failure:
            self.failure = failure
        finally:
            self._done = True
            self._running.release()
