"""A program's statements and expressions, each with what it evaluated to, and edits of its lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from .probing import Fact, expressions


class Row(NamedTuple):
    """A line of a program, and whether the fault is on it."""

    text: str
    planted: bool = False


@dataclass(frozen=True)
class Planted:
    """An operator's edit: the program's new lines."""

    at: int
    """The line of the original that it begins at."""
    rows: tuple[Row, ...]

    @property
    def text(self) -> str:
        """The faulty program."""
        return "\n".join(row.text for row in self.rows) + "\n"

    @property
    def lines(self) -> frozenset[int]:
        """The numbers of the lines that a finding should name one of."""
        return frozenset(number for number, row in enumerate(self.rows, 1) if row.planted)


@dataclass(frozen=True)
class Anatomy:
    """A program to plant faults in: its text has one statement a line."""

    text: str
    facts: Sequence[Mapping[str, Any]] = field(repr=False)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def _facts(self) -> dict[int, Fact]:
        pairs = zip(expressions(self.tree), self.facts, strict=True)
        return {id(node): Fact(**fact) for node, fact in pairs}

    @cached_property
    def _parents(self) -> dict[int, ast.AST]:
        return {id(child): node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def _nodes(self) -> list[Any]:
        found = [node for node in ast.walk(self.tree) if hasattr(node, "lineno")]
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    # --- looking ---

    def fact(self, node: ast.AST) -> Fact:
        """What an expression evaluated to; nothing for what was never evaluated."""
        return self._facts.get(id(node), _NOTHING)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(id(node))

    def around(self, node: ast.AST, *kinds: type[ast.AST]) -> Iterator[Any]:
        """The nodes of those kinds around one, the nearest first."""
        inside = self.parent(node)
        while inside is not None:
            if isinstance(inside, kinds):
                yield inside
            inside = self.parent(inside)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that an expression is part of."""
        return node if isinstance(node, ast.stmt) else next(self.around(node, ast.stmt))

    def named_there(self, node: ast.AST) -> bool:
        """Whether its names mean the same to a new statement beside its own: not those of a comprehension."""
        own = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
        inner = next(self.around(node, ast.stmt, *own), None)
        return isinstance(inner, ast.stmt)

    def of(self, *kinds: type[ast.AST]) -> Iterator[Any]:
        """The program's nodes of those kinds, in their order."""
        return (node for node in self._nodes if isinstance(node, kinds))

    def evaluated(self) -> Iterator[tuple[ast.expr, Fact]]:
        """The expressions that were evaluated, in their order."""
        return ((node, fact) for node in self.of(ast.expr) if (fact := self.fact(node)).times)

    def calls(self, method: str, kind: str = "") -> Iterator[ast.Call]:
        """The calls of a method or function of that name that ran; ``kind`` is that of the receiver."""
        for node in self.of(ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            receiver = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if name == method and self.fact(node).times and (not kind or self.fact(receiver).kind == kind):
                yield node

    def alone(self, node: ast.expr) -> ast.stmt | None:
        """The statement that is this expression and nothing else."""
        statement = self.parent(node)
        return statement if isinstance(statement, ast.Expr) else None

    def body(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which this one is."""
        owner = self.parent(statement)
        bodies = [getattr(owner, name, []) for name in ("body", "orelse", "finalbody")]
        return next(each for each in bodies if isinstance(each, list) and statement in each)

    # --- editing ---

    def edited(self, first: int, last: int, new: Sequence[str | Row], *, also: Sequence[ast.stmt] = ()) -> Planted:
        """The lines from ``first`` to ``last`` replaced; the faulty ones are the new ones, and those of ``also``."""
        old = self._marked(also)
        rows = [each if isinstance(each, Row) else Row(each, planted=True) for each in new]
        return Planted(first, (*old[: first - 1], *rows, *old[last:]))

    def replaced(self, node: ast.expr, template: str, **options: Any) -> Planted:
        """An expression replaced; ``{}`` in the template is the expression."""
        line = self.lines[node.lineno - 1].encode()
        assert node.end_lineno == node.lineno
        old = line[node.col_offset : node.end_col_offset].decode()
        new = line[: node.col_offset].decode() + template.replace("{}", old) + line[node.end_col_offset :].decode()
        return self.edited(node.lineno, node.lineno, [new], **options)

    def after(self, statement: ast.stmt, *new: str, **options: Any) -> Planted:
        """New statements after one."""
        last = statement.end_lineno or statement.lineno
        return self.edited(last + 1, last, [self.indent(statement) + line for line in new], **options)

    def before(self, statement: ast.stmt, *new: str, **options: Any) -> Planted:
        """New statements before one."""
        first = self._first(statement)
        return self.edited(first, first - 1, [self.indent(statement) + line for line in new], **options)

    def dropped(self, statement: ast.stmt, *answers: ast.stmt, **options: Any) -> Planted:
        """One statement less: what is not there has no line, so that others answer for it."""
        kept = [Row(self.indent(statement) + "pass")] if len(self.body(statement)) == 1 else []
        return self.edited(self._first(statement), statement.end_lineno or 0, kept, also=answers, **options)

    def inside(self, statement: ast.stmt, head: str) -> Planted:
        """A statement inside a new block."""
        first, last = self._first(statement), statement.end_lineno or statement.lineno
        inner = [Row("    " + line) for line in self.lines[first - 1 : last]]
        return self.edited(first, last, [self.indent(statement) + head, *inner])

    def moved(self, statement: ast.stmt, target: ast.stmt, *, behind: bool, also: Sequence[ast.stmt] = ()) -> Planted:
        """A statement of the same body before or behind another one."""
        first, last = self._first(statement), statement.end_lineno or 0
        rows = self._marked(also)
        moving = [Row(text, planted=True) for text, _ in rows[first - 1 : last]]
        place = (target.end_lineno or 0) if behind else self._first(target) - 1
        if place < first:
            new = [*rows[:place], *moving, *rows[place : first - 1], *rows[last:]]
        else:
            new = [*rows[: first - 1], *rows[last:place], *moving, *rows[place:]]
        return Planted(first, tuple(new))

    def indent(self, statement: ast.stmt) -> str:
        return " " * statement.col_offset

    def source(self, node: ast.AST) -> str:
        return ast.unparse(node)

    def _marked(self, also: Sequence[ast.stmt]) -> list[Row]:
        """The original's lines, those of some statements marked as faulty."""
        marked = {each.lineno for each in also}
        return [row._replace(planted=True) if number in marked else row for number, row in enumerate(self._rows, 1)]

    @cached_property
    def _rows(self) -> list[Row]:
        return [Row(line) for line in self.lines]

    def _first(self, statement: ast.stmt) -> int:
        return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])


_NOTHING = Fact()
