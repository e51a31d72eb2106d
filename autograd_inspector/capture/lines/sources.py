"""Interned stacks -> locations, with the text of the line and the variable that it assigns."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType

from msgspec.structs import replace

from autograd_inspector.capture.lines.cells import cell_at, is_timed, lines_of, typed_line
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.model.location import Location, Site

Span = tuple[int, int, int, int]


def resolve(stacks: Stacks) -> tuple[Site, ...]:
    """All stacks of a capture as sites."""
    return tuple(
        Site(tuple(locate(code, lasti, library=library) for code, lasti, library in chain)) for chain in stacks.chains
    )


def locate(code: CodeType, lasti: int, *, library: bool) -> Location:
    """One frame as a location, in the lines of the editor's gutter."""
    found = compiled(code, lasti, library=library)
    cell = cell_at(found.filename)
    if cell is None:
        # A reader looks for the line of `%time` in the cell, not for the code that it compiles.
        return replace(found, library=library or is_timed(found.filename))
    return replace(
        found,
        cell=cell.label,
        lineno=cell.gutter(found.lineno),
        end_lineno=cell.gutter(found.end_lineno),
        source=typed_line(cell, found.lineno) or found.source,
    )


def compiled(code: CodeType, lasti: int, *, library: bool) -> Location:
    """One frame in the lines of the compiled text, as :func:`tree_of` numbers them.

    ``lasti`` -1 is the function's definition, ``-1 - n`` its line n.
    """
    span = _span(code, lasti)
    filename = code.co_filename
    line, end, column, end_column = span
    lines = lines_of(filename)
    # To name a target a whole file is parsed, which the large ones of libraries do not repay.
    target = "" if lasti < 0 or library else _target(lines, span)
    expression = "" if lasti < 0 or span[2] < 0 else _slice(lines, span)
    return Location(
        filename=filename,
        lineno=line,
        function=code.co_qualname,
        source=lines[line - 1].strip() if 0 < line <= len(lines) else "",
        end_lineno=end,
        column=column,
        end_column=end_column,
        target=target,
        expression=expression,
        library=library,
    )


def _span(code: CodeType, lasti: int) -> Span:
    if lasti < 0:
        line = code.co_firstlineno if lasti == -1 else -1 - lasti
        return line, line, -1, -1
    start, end, column, end_column = _positions(code)[lasti // 2]
    line = start or code.co_firstlineno
    return line, end or line, -1 if column is None else column, -1 if end_column is None else end_column


@lru_cache(maxsize=4096)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def tree_of(filename: str) -> ast.Module | None:
    """The syntax tree of a source file as it is in the line cache; None when it cannot be had."""
    lines = lines_of(filename)
    return _parse("".join(lines)) if lines else None


def scope_of(tree: ast.Module, line: int) -> ast.AST:
    """The innermost function around a line, else the module."""
    best: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (node.end_lineno or 0):
            best = node
    return best


def definition_of(code: CodeType) -> ast.FunctionDef | None:
    """The definition that a function was compiled from, None where its source cannot be had."""
    tree = tree_of(code.co_filename)
    for scope in ast.walk(tree) if tree is not None else ():
        if isinstance(scope, ast.FunctionDef):
            lines = {scope.lineno, *(decorator.lineno for decorator in scope.decorator_list)}
            if code.co_firstlineno in lines:
                return scope
    return None


@lru_cache(maxsize=256)
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        pass
    # A notebook cell may hold magics; blank those lines out so that the rest keeps its numbers.
    blanked = "\n".join("" if line.lstrip().startswith(("%", "!", "?")) else line for line in text.split("\n"))
    try:
        return ast.parse(blanked)
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=256)
def _statements(text: str) -> dict[int, list[ast.stmt]]:
    """Simple statements by each line that they cover."""
    tree = _parse(text)
    found: dict[int, list[ast.stmt]] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found.setdefault(line, []).append(node)  # type: ignore[arg-type]
    return found


def _target(lines: Sequence[str], span: Span) -> str:
    """The variable that receives exactly the expression at ``span``, "" when none does."""
    if not lines or span[2] < 0:
        return ""
    for statement in _statements("".join(lines)).get(span[0], ()):
        for target, given in _pairs(statement):
            value = _wrapped(given)
            if (value.lineno, value.end_lineno, value.col_offset, value.end_col_offset) == span:
                return ast.unparse(target)
        if isinstance(statement, ast.AugAssign) and (statement.lineno, statement.col_offset) == (span[0], span[2]):
            return ast.unparse(statement.target)
    return ""


def _wrapped(value: ast.expr) -> ast.expr:
    """What ``nn.Parameter`` makes a parameter of: no torch call shows the wrapping, and the memory is the same."""
    if not isinstance(value, ast.Call) or not value.args:
        return value
    called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return value.args[0] if called == "Parameter" else value


def _pairs(statement: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(statement, (ast.AnnAssign, ast.NamedExpr)):
        return [] if statement.value is None else [(statement.target, statement.value)]
    if not isinstance(statement, ast.Assign):
        return []
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
        return list(zip(target.elts, statement.value.elts, strict=False))
    return [(target, statement.value)]


def _slice(lines: Sequence[str], span: Span) -> str:
    line, end, column, end_column = span
    if end != line or line > len(lines):
        return ""
    return lines[line - 1].encode()[column:end_column].decode(errors="replace")
