"""How the inspector's own steps run: unseen by the program's modes, and never failing into the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction


class Guard:
    """Calls a step of an observer; a failure switches the capture off and is told once, the program goes on.

    Inside, torch-function modes and tensor subclasses are off: the program's own must not see what the inspector
    reads, and ours must not take the inspector's reads for the program's.
    """

    def __init__(self, recording: Recording, on_failure: Callable[[Exception], None]) -> None:
        self.recording = recording
        self.on_failure = on_failure

    def run(self, step: Callable[..., Any], *args: Any) -> Any:
        """The step's result; None where it failed or nothing is recorded any more."""
        if self.recording.closed:
            return None
        try:
            with DisableTorchFunction():
                return step(*args)
        except RecursionError:
            self.recording.out_of_stack = True  # Nothing is called here: a call would need room on the stack.
        except Exception as failure:
            self.on_failure(failure)
        except BaseException:
            self.recording.struck = True
            raise
        return None
