"""The inspector's hooks on the nodes of a graph that the engine runs through: gone when the run is over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from autograd_inspector.capture.undisturbed.guard import Guard

Look = Callable[[Any, Any], None]
"""Given what a node passed on, and what it was given."""


class NodeHooks:
    """Those of one run. They change nothing, and never fail into the program."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._handles: list[Any] = []
        self._over = False

    def put(self, node: Any, look: Look) -> None:
        """Hook a node. What removes the hook is noted in the same call of C code, lest an interrupt have it lost."""
        self._handles.extend(map(node.register_hook, (partial(self.called, look),)))

    def called(self, look: Look, passed_on: Any, received: Any) -> None:
        """What autograd calls once the node has run."""
        if not self._over:
            self._guard.run(look, passed_on, received)

    def remove(self) -> None:
        """Take all away. Right however often it is called; one that torch was just about to put stays, and is idle."""
        self._over = True
        while self._handles:
            self._handles[-1].remove()
            del self._handles[-1]
