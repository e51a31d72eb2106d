"""A program in one piece: of the modules that it is written in, what it needs and no more, one statement a line."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROVIDED = "import copy\nimport torch\n"
"""What a planted line may name in any program."""


def sliced(module: str, expression: str, inlined: tuple[str, ...] = ()) -> str:
    """The text of a module whose ``run()`` evaluates an expression of the module given.

    What comes from the project's tests, or from an ``inlined`` module, is part of the text, so that faults can be
    planted there too. Everything else is imported.
    """
    collected = _Collected(inlined)
    for name in _names(ast.parse(expression)):
        collected.take(module, name)
    run = [] if expression == "run()" else ast.parse(f"def run():\n    return {expression}").body
    body = [*ast.parse(PROVIDED).body, *collected.imports.values(), *collected.ordered(), *run]
    return ast.unparse(ast.Module([_without_docstrings(each) for each in body], []))


@cache
def _parsed(module: str) -> tuple[ast.Module, dict[str, ast.stmt]]:
    """A module, and its top-level names with the statements that bind them."""
    tree = ast.parse(_file(module).read_text(encoding="utf-8"))
    return tree, {name: each for each in tree.body for name in _bound(each)}


def _file(module: str) -> Path:
    if module.startswith("tests."):
        return ROOT.joinpath(*module.split(".")).with_suffix(".py")
    found = importlib.util.find_spec(module)
    assert found is not None, module
    assert found.origin is not None, module
    return Path(found.origin)


class _Collected:
    def __init__(self, inlined: tuple[str, ...]) -> None:
        self.inlined = inlined
        self.imports: dict[str, ast.stmt] = {}
        self.statements: dict[tuple[str, int], ast.stmt] = {}
        self.modules: list[str] = []
        self._seen: set[tuple[str, str]] = set()

    def take(self, module: str, name: str) -> None:
        if (module, name) in self._seen:
            return
        self._seen.add((module, name))
        statement = _parsed(module)[1].get(name)
        if statement is None:
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self._take_import(module, name, statement)
            return
        self.statements[module, statement.lineno] = _Absolute(module).visit(statement)
        for needed in _names(statement):
            self.take(module, needed)
        if module not in self.modules:  # After those that it needs something of.
            self.modules.append(module)

    def _take_import(self, module: str, name: str, statement: ast.Import | ast.ImportFrom) -> None:
        (alias,) = [each for each in statement.names if (each.asname or each.name.partition(".")[0]) == name]
        if isinstance(statement, ast.Import):
            self.imports[name] = ast.Import([alias])
            return
        source = _source(module, statement)
        if (source.startswith("tests.") or source in self.inlined) and alias.asname is None:
            self.take(source, alias.name)
        else:
            self.imports[name] = ast.ImportFrom(source, [alias], 0)

    def ordered(self) -> list[ast.stmt]:
        """The statements, in the order of each module, modules after those that they import from."""
        places = {module: number for number, module in enumerate(self.modules)}
        return [self.statements[key] for key in sorted(self.statements, key=lambda key: (places[key[0]], key[1]))]


def _source(module: str, statement: ast.ImportFrom) -> str:
    """The whole name of the module that is imported from."""
    package = module.split(".")[: -statement.level] if statement.level else []
    return ".".join([*package, *([statement.module] if statement.module else [])])


class _Absolute(ast.NodeTransformer):
    """Inside a statement that is taken as it is, the imports no longer depend on where it stood."""

    def __init__(self, module: str) -> None:
        self.module = module

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        return ast.copy_location(ast.ImportFrom(_source(self.module, node), node.names, 0), node)


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.If(body=body):  # What is imported where a library is there.
            yield from (name for each in body for name in _bound(each))
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (each.asname or each.name.partition(".")[0] for each in names)


def _names(node: ast.AST) -> list[str]:
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def _without_docstrings(statement: ast.stmt) -> ast.stmt:
    """The same without what is only text: a docstring is the one statement that would take several lines."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
    return statement


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
