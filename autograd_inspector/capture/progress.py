"""How far an open capture is: what a front end shows while the program runs."""

from __future__ import annotations

from typing import NamedTuple


class RecordingProgress(NamedTuple):
    """Ops and training steps recorded so far, seconds since the capture was opened; ``stopped``: it records no more."""

    ops: int
    steps: int
    seconds: float
    stopped: bool
