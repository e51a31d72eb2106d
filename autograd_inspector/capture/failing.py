"""What becomes of the inspector's own failures: recording stops, the program goes on, and one warning says so."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import TracebackType

from autograd_inspector.capture.observers.compiled.inside import InsideCompiledCodeError
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.resolving import UnsupportedTorch
from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import message_of, text_of
from autograd_inspector.raised import traceback_of


class Failures:
    """Of one capture; ``failure``: what ended it, "" where nothing did."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.failure = ""

    def fail(self, failure: Exception) -> None:
        """The inspector's own failure: stop recording, say so once, leave the program alone."""
        if is_interrupt(failure):
            self._recording.struck = True
            raise failure
        if self.failure:
            return
        self._recording.closed, self._recording.recording = True, False
        text = f"{text_of(failure)} ({origin(traceback_of(failure))})"
        if isinstance(failure, (UnsupportedTorch, InsideCompiledCodeError)):
            text = message_of(failure)
        self.failure = f"autograd_inspector stopped recording: {text}"
        self.tell(self.failure, failure)

    def tell(self, text: str, failure: Exception) -> None:
        """Say once that something of the inspector's failed: in a note, and in a warning."""
        if text in self._recording.notes:
            return
        self._recording.note(text)
        if os.environ.get("AUTOGRAD_INSPECTOR_STRICT"):
            raise failure
        try:
            warnings.warn(text, InspectorWarning, stacklevel=4)
        except InspectorWarning:
            # The program turns warnings into errors. Ours must not become one of its own.
            print(text, file=sys.stderr)  # noqa: T201


def origin(traceback: TracebackType | None) -> str:
    """The file and line that raised."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return "?"
    return f"{Path(traceback.tb_frame.f_code.co_filename).name}:{traceback.tb_lineno}"
