"""A program as a frozen tree of statements, and its Python source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

Path = tuple[int, ...]
"""Where a statement stands: its index in the program, in that one's body, and so on."""


@dataclass(frozen=True)
class Statement:
    """One kind of thing that a program does.

    ``text`` is its source; a line that is ``{body}`` stands for the statements inside it, at that line's indentation.
    """

    kind: str
    text: str
    body: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Program:
    """``before`` runs outside the inspected block, then the statements in it, then ``after`` outside again."""

    before: tuple[Statement, ...]
    inside: tuple[Statement, ...]
    after: tuple[Statement, ...] = ()
    values: bool = False
    """Inspected with ``values=True``."""

    def parts(self) -> tuple[tuple[Statement, ...], ...]:
        return self.before, self.inside, self.after

    def kinds(self) -> set[str]:
        """The kinds of all statements, nested ones too."""
        return {statement.kind for part in self.parts() for statement in _all(part)}

    def paths(self) -> list[Path]:
        """Every statement's place, the innermost and last first."""
        paths = [(number, *path) for number, part in enumerate(self.parts()) for path in _paths(part)]
        return sorted(paths, key=lambda path: (-len(path), [-index for index in path]))

    def without(self, path: Path) -> Program:
        """The program without one statement."""
        parts = list(self.parts())
        parts[path[0]] = _edited(parts[path[0]], path[1:], lambda _: ())
        return Program(*parts, self.values)

    def flattened(self, path: Path) -> Program:
        """The program with a statement's body in its place."""
        parts = list(self.parts())
        parts[path[0]] = _edited(parts[path[0]], path[1:], lambda statement: statement.body)
        return Program(*parts, self.values)


def _all(part: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in part:
        yield statement
        yield from _all(statement.body)


def _paths(part: tuple[Statement, ...]) -> Iterator[Path]:
    for index, statement in enumerate(part):
        yield (index,)
        for path in _paths(statement.body):
            yield (index, *path)


def _edited(
    part: tuple[Statement, ...], path: Path, edit: Callable[[Statement], tuple[Statement, ...]]
) -> tuple[Statement, ...]:
    index, rest = path[0], path[1:]
    statement = part[index]
    put = (replace(statement, body=_edited(statement.body, rest, edit)),) if rest else edit(statement)
    return (*part[:index], *put, *part[index + 1 :])


def source_of(part: tuple[Statement, ...]) -> str:
    """Its Python text."""
    return "\n".join(_lines(part)) + "\n"


def _lines(part: tuple[Statement, ...]) -> Iterator[str]:
    for statement in part:
        for line in statement.text.splitlines():
            if line.strip() != "{body}":
                yield line
                continue
            indent = line[: len(line) - len(line.lstrip())]
            inner = list(_lines(statement.body)) or ["pass"]
            yield from (indent + inner_line for inner_line in inner)
