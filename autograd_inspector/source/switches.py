"""Calls that wrap a function in a grad mode, ``torch.no_grad()(self._extract)``, and what tells a call the mode."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source

_SWITCHES = {"no_grad", "inference_mode", "set_grad_enabled"}


class Switches:
    """Those of a file, by the name of the function that they wrap."""

    def __init__(self, source: Source) -> None:
        self._lines: dict[str, int] = {}
        for node in source.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and _last(node.func.func) in _SWITCHES:
                for argument in node.args:
                    self._lines.setdefault(_last(argument), node.lineno)

    def line_of(self, name: str) -> int:
        """The first line that wraps a function of that name; 0: none does."""
        return self._lines.get(name, 0)


class Conditions:
    """Variables that ``set_grad_enabled(...)`` is told the mode by, by the line of the call."""

    def __init__(self, source: Source) -> None:
        self._set_at: dict[int, int] = {}
        told = {
            node.lineno: argument.id
            for node in source.nodes
            if isinstance(node, ast.Call) and _last(node.func) == "set_grad_enabled"
            for argument in node.args[:1]
            if isinstance(argument, ast.Name)
        }
        if not told:
            return
        set_at: dict[tuple[ast.AST, str], list[int]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in told.values():
                set_at.setdefault((source.scope_at(node.lineno), node.id), []).append(node.lineno)
        for line, name in told.items():
            before = [at for at in set_at.get((source.scope_at(line), name), ()) if at < line]
            self._set_at[line] = max(before, default=0)

    def set_before(self, line: int) -> int:
        """The last line above in the same function that sets the variable; 0: there is none."""
        return self._set_at.get(line, 0)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
