"""What the treatments of single torch functions are given: whoever runs the program's calls and records them."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.model.op import Write


class Calling(Protocol):
    """The recorder, as far as they need it."""

    @property
    def recording(self) -> Recording:
        """What they add to."""

    @property
    def guard(self) -> Guard:
        """How they run."""

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program's own call, with the modes and subclasses on that were on when it was made."""

    def record(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str,
        traits: int = 0,
        frame: FrameType | None = None,
        silent: Callable[[], list[Write]] | None = None,
    ) -> Any:
        """Call ``func`` as an op of that name. ``silent`` tells the writes that moved no version counter."""
