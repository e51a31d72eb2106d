"""Where a warning belongs: what CPython reads off the frame that the stack level leads to."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

_REGISTRY = "__warningregistry__"


class Place:
    """A file and a line, the module, and the registry where that module's warnings are noted once they were shown."""

    def __init__(self, filename: str, lineno: int, module: Any, registry: dict[Any, Any] | None) -> None:
        self.filename = filename
        self.lineno = lineno
        self.module = module
        self.registry = registry

    def warn(self, message: Any) -> None:
        """Warn again, from here: the program's filters and registry decide what becomes of it."""
        warnings.warn_explicit(
            message.message,
            message.category,
            self.filename,
            self.lineno,
            module=self.module,
            registry=self.registry,
            source=message.source,
        )


def of_frame(frame: FrameType) -> Place:
    """Of a warning that is raised for that frame."""
    module = frame.f_globals.get("__name__", "<string>")
    registry = frame.f_globals.setdefault(_REGISTRY, {})
    return Place(frame.f_code.co_filename, frame.f_lineno, module, registry)


def of_no_frame() -> Place:
    """Of a warning for a frame further out than the stack goes."""
    name, line = ("<sys>", 0) if sys.version_info >= (3, 12) else ("sys", 1)
    return Place(name, line, sys.__dict__["__name__"], sys.__dict__.setdefault(_REGISTRY, {}))


def of_module(message: Any, module: str, frames: list[FrameType]) -> Place:
    """Of one that was raised with a place of its own, for a module that may be among those that are running."""
    registry = next((f.f_globals.get(_REGISTRY) for f in frames if f.f_globals.get("__name__") == module), None)
    return Place(message.filename, message.lineno, module, registry)


def forget(message: Any, frame: FrameType) -> None:
    """Undo that CPython has just noted the warning as one of that frame's module."""
    registry = frame.f_globals.get(_REGISTRY)
    if isinstance(registry, dict):
        text, category = str(message.message), message.category
        for key in ((text, category, message.lineno), (text, category), (text, category, 0)):
            registry.pop(key, None)
