"""Where the program asks how many ranks there are: a number equal to that is not evidence, for 2 is a common one."""

from __future__ import annotations

import os
import sys
from functools import partial
from types import FunctionType
from typing import Any

import torch.distributed as dist

from autograd_inspector.capture.lines.program_frames import called_by_program
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.instrumented import with_probe
from autograd_inspector.capture.undisturbed.patches import around

_VARIABLE = "WORLD_SIZE"
_TOLD_BY = (
    ("torch.distributed.device_mesh", "DeviceMesh", "size"),
    ("accelerate.accelerator", "Accelerator", "num_processes"),
    ("lightning.fabric.fabric", "Fabric", "world_size"),
    ("lightning.pytorch.trainer.trainer", "Trainer", "world_size"),
    ("pytorch_lightning.trainer.trainer", "Trainer", "world_size"),
)
"""Methods and properties that tell it, beside the function of torch.distributed."""


class RankCounts:
    """A probe in each way to ask."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard

    def install(self, into: Installation) -> None:
        """Put the probes in place; that of the environment only where ranks were started by a launcher."""
        if not dist.is_available():
            return
        around(into, dist, "get_world_size", _Asked(self._recording, self._guard))
        for module, kind, name in _TOLD_BY:
            into.when_loaded(module, partial(self._guard.run, self._observe, into, module, kind, name))
        if _VARIABLE in os.environ:
            around(into, type(os.environ), "__getitem__", _Read(self._recording, self._guard))

    def _observe(self, into: Installation, module: str, kind: str, name: str) -> None:
        owner = getattr(sys.modules[module], kind, None)
        held = vars(owner).get(name) if isinstance(owner, type) else None
        function = held.fget if isinstance(held, property) else held
        if not isinstance(function, FunctionType):
            return
        code = with_probe(function, _Asked(self._recording, self._guard))
        if code is not None:
            into.recode(function, code)


class _Asked:
    """Notes who asked: the program, or a library that it called, and not torch for its own purposes."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard

    def before(self, seen: list[Any], /, *_: Any, **__: Any) -> None:
        """It begins."""

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        """It returned a number."""
        if called_by_program(sys._getframe(1)) and self._recording.here() and self._recording.active():
            self._guard.run(self._note)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It raised: there is no process group."""

    def _note(self) -> None:
        self._recording.counted_ranks[self._recording.stacks.here(0)] = None


class _Read(_Asked):
    """Notes who read the variable that a launcher sets."""

    def before(self, seen: list[Any], /, *args: Any, **__: Any) -> None:
        """Some variable is looked up."""
        if _VARIABLE in args:
            seen.append(_VARIABLE)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was there."""
        if seen and self._recording.here() and self._recording.active():
            self._guard.run(self._note)
        return result
