"""A file or a notebook's cell: its text, its syntax, and where in it a place of the program is."""

from __future__ import annotations

import ast
import io
from collections.abc import Sequence
from functools import cached_property

from autograd_inspector.edits.patching import compiles, lines_of, overlap, patched
from autograd_inspector.edits.unbound import Read, names_bound, unbound_reads
from autograd_inspector.model.edit import Edit, Unedited
from autograd_inspector.model.location import Location
from autograd_inspector.source.index import Source
from autograd_inspector.source.parsed import parsed
from autograd_inspector.source.shelf import source_of
from autograd_inspector.source.statements import Statements

Place = tuple[int, int]
"""Line from 1, column in UTF-8 bytes from 0."""


class Program:
    """One file or cell. Nothing in it is an expression or a statement where the text is no Python."""

    def __init__(self, filename: str, cell: str | None, text: str) -> None:
        self.filename, self.cell, self.text = filename, cell, text
        self.lines = lines_of(text)
        self._obstacles: dict[tuple[Edit, ...], Unedited | None] = {}

    @cached_property
    def source(self) -> Source:
        """The syntax, with the indices over it."""
        # A file was parsed for the report; a cell only as it was compiled, not as it was typed.
        source = source_of(self.filename, list(io.StringIO(self.text))) if self.cell is None else None
        return source or Source(parsed(self.text) or ast.Module([], []))

    def obstacle(self, edits: tuple[Edit, ...]) -> Unedited | None:
        """Why the program cannot have those edits: it would be the same, no Python, or read a name without a value.

        What a loop repeats is edited at one place: that is asked once.
        """
        if edits not in self._obstacles:
            self._obstacles[edits] = self._fault_with(edits)
        return self._obstacles[edits]

    def _fault_with(self, edits: tuple[Edit, ...]) -> Unedited | None:
        after = self.text if overlap(self.text, edits) else patched(self.text, [edits])
        tree = parsed(after) if after != self.text and compiles(after) else None
        if tree is None:
            line = min(edit.lineno for edit in edits)
            return Unedited("form", Location(self.filename, line, cell=self.cell).place)
        unbound = sorted(name for _, name in self._newly_unbound(tree, edits))
        return Unedited("no value", unbound[0]) if unbound else None

    def _newly_unbound(self, after: ast.Module, edits: tuple[Edit, ...]) -> set[Read]:
        """What only the new text reads where it may have no value.

        A function that no edit touches reads the same as before, as long as the module still binds what it did.
        """
        before = self.source.tree
        first, last = min(edit.lineno for edit in edits), max(edit.end_lineno for edit in edits)
        # What stands on the line behind a function may have become a part of it.
        above = [each for each in before.body if end_of(each)[0] + 1 < first]
        below = [each for each in before.body if first_place(each)[0] > last]
        if len(above) + len(below) > len(after.body) or not names_bound(before) <= names_bound(after):
            return unbound_reads(after) - unbound_reads(before)
        same = [*after.body[: len(above)], *after.body[len(after.body) - len(below) :]]
        return unbound_reads(after, same) - unbound_reads(before, [*above, *below])

    def expression(self, at: Location) -> ast.expr | None:
        """The expression, of more than a name, that stands exactly at a place; None within an f-string.

        Before Python 3.12 the columns of what an f-string computes are not those of the file.
        """
        if at.column < 0:
            return None
        found = self.source.expression_at((at.lineno, at.end_lineno or at.lineno, at.column, at.end_column))
        return None if found is None or self._in_text(found) else found

    def _in_text(self, node: ast.AST | None) -> bool:
        while node is not None and not isinstance(node, ast.JoinedStr):
            node = self.source.parents.get(node)
        return node is not None

    def statement(self, at: Location) -> ast.stmt | None:
        """The innermost statement at a place; of a line without columns the one whose line it is."""
        if at.column >= 0:
            return self.source.index(Statements).around(
                (at.lineno, at.end_lineno or at.lineno, at.column, at.end_column)
            )
        here = [node for node in self.source.nodes if isinstance(node, ast.stmt) and node.lineno == at.lineno]
        return here[0] if len(here) == 1 else None

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that a node is a part of, itself perhaps."""
        while not isinstance(node, ast.stmt):
            outer = self.source.parents.get(node)
            if outer is None:
                return None
            node = outer
        return node

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements of the block that one stands in, in their order."""
        parent = self.source.parents.get(statement, self.source.tree)
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list) and any(part is statement for part in value):
                return value
        return [statement]

    def within(self, begin: Place, end: Place) -> str:
        """The text between two places."""
        first, last = begin[0] - 1, end[0] - 1
        if first == last:
            return _decoded(self.lines[first][begin[1] : end[1]])
        parts = [self.lines[first][begin[1] :], *self.lines[first + 1 : last]]
        if last < len(self.lines):
            parts.append(self.lines[last][: end[1]])
        return _decoded(b"".join(parts))

    def written(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node, as the program has it."""
        return self.within(start_of(node), end_of(node))

    def indent(self, statement: ast.stmt) -> str:
        """The white space that the line of a statement begins with."""
        line = _decoded(self.lines[statement.lineno - 1])
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    @cached_property
    def _in_strings(self) -> set[int]:
        """Lines that begin within a string: their white space is a part of it."""
        strings = (n for n in self.source.nodes if isinstance(n, (ast.Constant, ast.JoinedStr)))
        return {line for n in strings for line in range(n.lineno + 1, (n.end_lineno or n.lineno) + 1)}

    def reindented(self, first: int, last: int, indent: str) -> str:
        """Some lines as those of a block with that indentation; the first of them shows the one that they have."""
        texts = {number: _decoded(self.lines[number - 1]) for number in range(first, min(last, len(self.lines)) + 1)}
        margin = texts[first][: len(texts[first]) - len(texts[first].lstrip(" \t\f"))]
        return "".join(
            indent + text.removeprefix(margin)
            if number not in self._in_strings and text.startswith(margin) and text.strip()
            else text
            for number, text in texts.items()
        )

    def begins_its_line(self, statement: ast.stmt) -> bool:
        """Whether nothing but white space stands before it on its line: no ``if x:``, no other statement."""
        line, column = first_place(statement)
        return not self.lines[line - 1][:column].strip()

    def ends_its_line(self, statement: ast.stmt) -> bool:
        """Whether nothing but a comment stands behind it on its line."""
        line, column = end_of(statement)
        rest = self.lines[line - 1][column:].strip()
        return not rest or rest.startswith(b"#")

    def edit(self, begin: Place, end: Place, text: str) -> Edit:
        """The change of what stands between two places."""
        return Edit(self.filename, self.cell, *begin, *end, text)


def start_of(node: ast.expr | ast.stmt) -> Place:
    """Where a node begins; its decorators stand before that."""
    return node.lineno, node.col_offset


def end_of(node: ast.expr | ast.stmt) -> Place:
    """Where a node ends."""
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def first_place(statement: ast.stmt) -> Place:
    """Where a statement begins, with its decorators."""
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    if decorators:
        return decorators[0].lineno, decorators[0].col_offset - 1
    return start_of(statement)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogatepass")
