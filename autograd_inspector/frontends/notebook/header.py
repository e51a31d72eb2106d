"""The line ``%%autograd_inspect`` on top of a cell, and how it disappears without moving a line.

A cell magic receives the cell as text, and all that IPython does for a cell (the value shown and kept in `_`,
top-level await, one traceback, debugging) would have to be imitated. So the line becomes a comment before
IPython looks for magics: IPython runs the cell, and the report is made when it has run.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from IPython.core.error import UsageError

from autograd_inspector.kernel.options import MAGIC, Options, parse_header

_HEADER = re.compile(rf"[ \t]*%%{MAGIC}(?:[ \t]+(?P<line>.*))?\s*")
_OTHERS = ("%%", ">>>", "In [")
"""What only works as the first line of a cell."""


def header_of(raw_cell: str) -> Options | None:
    """The options of a cell that begins with our header; None when it does not, or when they do not run the cell."""
    lines = raw_cell.splitlines(keepends=True)
    first = _first(lines)
    named = _HEADER.fullmatch(lines[first]) if first < len(lines) - 1 else None
    if named is None:
        return None
    try:
        options = parse_header((named["line"] or "").strip())
    except UsageError:
        # The magic of the same name gets the cell as it is, and says what is wrong, or helps, instead of running it.
        return None
    return None if options.help else options


class KeepLines:
    """Input transformer, before all others: our header becomes a comment, leading blank lines stay.

    IPython strips leading blank lines, and lines in tracebacks and findings would no longer be the gutter's.
    """

    # Tells IPython not to ask us whether typing is complete: in a terminal, a cell under our header ends at a
    # blank line, like any other cell magic.
    has_side_effects = True

    def __init__(self, busy: Callable[[], bool]) -> None:
        self._busy = busy

    def __call__(self, lines: list[str]) -> list[str]:
        """IPython's protocol: all lines of a cell, to all lines of a cell."""
        if self._busy():  # Text that a running cell hands to IPython: `%%time`'s body, `%%capture`'s.
            return lines
        first = _first(lines)
        if _asks_alone(lines):
            return [lines[first].replace("%%", "%", 1)]
        if header_of("".join(lines)) is None:
            return _commented(lines) if 0 < first < len(lines) else lines
        body = first + 1 + _first(lines[first + 1 :])
        if body < len(lines) and lines[body].lstrip().startswith("%%"):
            return lines[body:]
        note = f"{_indent(lines, body)}# {lines[first].strip()}\n"
        kept = [*lines[:first], note, *lines[first + 1 :]]
        return _commented(kept) if first > 0 else kept


def _asks_alone(lines: list[str]) -> bool:
    """Whether a header that asks for help is all there is: IPython refuses a cell magic without a body."""
    (header, *more) = [line for line in lines if line.strip()] or [""]
    named = None if more else _HEADER.fullmatch(header)
    return named is not None and bool({"-h", "--help"} & {*(named["line"] or "").split()})


def _first(lines: list[str]) -> int:
    """The index of the first line that is not blank."""
    return next((index for index, line in enumerate(lines) if line.strip()), len(lines))


def _indent(lines: list[str], index: int) -> str:
    """The indentation of a line: a comment above it must not keep IPython from dedenting the cell."""
    line = lines[index] if index < len(lines) else ""
    return line[: len(line) - len(line.lstrip())]


def _commented(lines: list[str]) -> list[str]:
    first = _first(lines)
    if lines[first].lstrip().startswith(_OTHERS):
        return lines
    return [f"{_indent(lines, first)}#\n", *lines[1:]]
