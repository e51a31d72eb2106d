"""Waits for modules that the program imports while a capture is open: what observes them is put in place then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

Put = Callable[[], object]


class Loading:
    """A finder that is asked first, finds what Python's own would find, and tells when that is loaded."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Put]] = {}

    def when_loaded(self, name: str, put: Put) -> None:
        """Call ``put`` once that module is there: now, or behind its import."""
        if name in sys.modules:
            put()
            return
        self._waiting.setdefault(name, []).append(put)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def leave(self) -> None:
        """Wait no longer."""
        self._waiting.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module is that is waited for, with a loader that tells when it is there; None for all others."""
        if name not in self._waiting:
            return None
        spec = PathFinder.find_spec(name, path, target)
        loader = None if spec is None else spec.loader
        if loader is None:
            return None
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            for put in self._waiting.pop(name, ()):
                put()

        vars(loader)["exec_module"] = exec_module  # A loader serves one module.
        return spec
