"""Where in the user's program something happened."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace


class Location(Struct, frozen=True, omit_defaults=True):
    """One line of the program, numbered as in the editor.

    ``lineno`` and ``end_lineno`` count from 1, ``column`` and ``end_column`` from 0 (UTF-8 bytes, as
    :meth:`code.co_positions` returns them; -1 if unknown). ``cell`` is the execution count of the notebook cell ("In
    [3]"), None in a file. ``target`` is the variable that the statement assigns, "" if there is none. ``assigned`` is
    the variable that gets the value computed from the expression. ``namespaces`` are the modules and classes whose
    functions the expression calls. ``block_end`` is the last line of the ``with`` statement that enters the result of
    the expression. ``library`` is True for installed packages and False for the user's own files.
    """

    filename: str
    lineno: int
    function: str = ""
    cell: str | None = None
    source: str = ""
    role: str = ""
    end_lineno: int = 0
    column: int = -1
    end_column: int = -1
    target: str = ""
    expression: str = ""
    library: bool = False
    assigned: str = ""
    namespaces: tuple[str, ...] = ()
    block_end: int = 0

    @property
    def line(self) -> tuple[str, int]:
        """The file and the line: equal for two locations on the same line."""
        return self.filename, self.lineno

    @property
    def scope(self) -> tuple[str, str]:
        """The file and the function: equal for two locations in the same function body."""
        return self.filename, self.function

    @property
    def place(self) -> str:
        """``In [3], line 7`` for a cell, ``train.py:7`` for a file."""
        if self.cell is not None:
            return f"{self.cell}, line {self.lineno}"
        return f"{self.filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{self.lineno}"


class Site(Struct, frozen=True, omit_defaults=True):
    """The call chain of one event: innermost frame outside torch first, then the user's own frames, outwards.

    ``through`` is the function of torch's that the innermost frame called, where that is written in Python.
    """

    frames: tuple[Location, ...] = ()
    through: str = ""

    @property
    def user(self) -> Location | None:
        """The innermost frame of the user's own code, or the innermost of any library."""
        return next((frame for frame in self.frames if not frame.library), self.frames[0] if self.frames else None)


CALLER = "called from"
"""The role of a line that called the one that plays a part."""


def dedupe_locations(locations: Iterable[Location]) -> tuple[Location, ...]:
    """Each line once, in its first role; having called another line is none, where it has one of its own as well."""
    seen: dict[tuple[str, int], Location] = {}
    for location in locations:
        line = location.filename, location.lineno
        first = seen.setdefault(line, location)
        if first.role == CALLER != location.role:
            seen[line] = location
    return tuple(seen.values())


def with_role(location: Location, role: str) -> Location:
    """The same line, playing that role in a finding."""
    return replace(location, role=role) if role else location
