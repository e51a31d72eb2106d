"""The code that torch writes of a graph (``<eval_with_key>.1``): the same calls from the same lines.

A warning tells the line of its caller, and is shown once for it: what stands in for that code is to look the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from autograd_inspector.capture.torch_private.compiled import first_line_written, lines_written


def written_lines(gm: Any) -> dict[int, int]:
    """The number of a graph's node -> the line of the written code that runs it."""
    lines: dict[int, int] = {}
    start = first_line_written(gm) or 0
    for line, node in (lines_written(gm) or {}).items():
        if node is not None:
            lines.setdefault(node, start + line)
    return lines


def call(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function; its code is what a stand-in runs under another file and line."""
    return function(*args, **kwargs)


_FIRST = max(line for _, _, line in call.__code__.co_lines() if line) - call.__code__.co_firstlineno
"""The lines from its definition to where it calls."""


@dataclass(frozen=True)
class StandIn:
    """The file that the written code has, its function and its globals, where its warnings are counted."""

    filename: str
    name: str
    namespace: dict[str, Any]

    @classmethod
    def of(cls, gm: Any) -> StandIn | None:
        """That of a graph module; None where its forward is no function of its own."""
        function = getattr(type(gm), "forward", None)
        if not isinstance(function, FunctionType):
            return None
        return cls(function.__code__.co_filename, function.__code__.co_name, function.__globals__)

    def calling(self, line: int) -> Callable[[Callable[..., Any], Any, Any], Any]:
        """Calls a function from a line of that code."""
        code = call.__code__.replace(
            co_filename=self.filename, co_name=self.name, co_qualname=self.name, co_firstlineno=line - _FIRST
        )
        return FunctionType(code, self.namespace)
