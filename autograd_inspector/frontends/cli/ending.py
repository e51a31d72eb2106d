"""From the end of a rank's program to that of its reports, a launcher's SIGTERM waits.

torchrun ends all ranks as soon as one has failed: without this, the finding that fails one rank costs the others their
reports.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any

from autograd_inspector.api.destinations import rank_of


class Ending:
    """``hold`` once the program has ended, ``release`` once the reports are written."""

    def __init__(self) -> None:
        self._before: Any = None
        self._asked = False

    @property
    def asked(self) -> bool:
        """Whether the launcher has asked this rank to end."""
        return self._asked

    def hold(self) -> None:
        """Let the first SIGTERM wait, the second not; nothing is done in a process that is no rank."""
        # None: no Python code put there what SIGTERM does, and none could put it back.
        main = threading.current_thread() is threading.main_thread()
        if rank_of() >= 0 and main and signal.getsignal(signal.SIGTERM) is not None:
            self._before = signal.signal(signal.SIGTERM, self._wait)

    def release(self) -> None:
        """Restore what SIGTERM did, and do that if it came."""
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
            self._before = None
        if self._asked:
            os.kill(os.getpid(), signal.SIGTERM)

    def _wait(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        signal.signal(signal.SIGTERM, self._before)
