"""Waits for Dynamo to be imported, which takes seconds: whoever does it, what hears of graphs is put in place then.

Imports nothing of torch's, so that it can be there before.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_GRAPHS = "torch._dynamo.output_graph"


class _Waiting:
    """Asked first for each module that is imported; looks at one of them, once."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where that module is, with a loader that tells when it is there; None for all others."""
        if name != _GRAPHS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        loader = None if spec is None else spec.loader
        if loader is None:
            return None
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            if _Waiting in sys.meta_path:
                sys.meta_path.remove(_Waiting)
            _listen()

        vars(loader)["exec_module"] = exec_module  # A loader serves one module.
        return spec


def wait_for_dynamo() -> None:
    """Listen from the moment that Dynamo is imported; at once where it is."""
    if _GRAPHS in sys.modules:
        _listen()
    elif _Waiting not in sys.meta_path:
        sys.meta_path.insert(0, _Waiting)


def _listen() -> None:
    import_module("autograd_inspector.capture.compiled.seam").listen()
