"""The lines of the program that a finding is about, with some around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from autograd_inspector.model.location import CALLER, Location
from autograd_inspector.model.long_lines import cut_around

_AROUND_CULPRIT = 2
_AROUND = 1
_MOST_LINES = 40
"""Of one excerpt; those that say what happened come first."""


class CodeLine(Struct, frozen=True, omit_defaults=True):
    """A line as it stands in the editor, less the indentation that all lines of its excerpt share.

    ``role`` is what happened there ("modified here"), "" for a line that only stands beside; ``expression`` the part
    of the line that ran, "" for the whole; ``culprit``: the line to look at first.
    """

    lineno: int
    text: str
    role: str = ""
    expression: str = ""
    culprit: bool = False


class Excerpt(Struct, frozen=True, omit_defaults=True):
    """Lines of one file or cell in their order; where numbers are left out, the text between them is.

    ``cell`` is the execution count of the notebook cell ("In [3]"), "" in a file.
    """

    filename: str
    cell: str = ""
    lines: tuple[CodeLine, ...] = ()

    @property
    def title(self) -> str:
        """``In [3]`` for a cell, ``train.py`` for a file."""
        return self.cell or self.filename.replace("\\", "/").rsplit("/", 1)[-1]


def excerpts_of(locations: Sequence[Location], text_of: Callable[[str], Mapping[int, str]]) -> tuple[Excerpt, ...]:
    """One excerpt for each file or cell, each line once; that of the first location, the culprit, is the first.

    ``text_of``: a file's name -> its lines by number, as far as they are known.
    """
    by_file: dict[tuple[str, str], list[Location]] = {}
    for location in locations:
        by_file.setdefault((location.filename, location.cell or ""), []).append(location)
    return tuple(
        Excerpt(_storable(filename), _storable(cell), tuple(_lines(text_of(filename), here, locations[0])))
        for (filename, cell), here in by_file.items()
    )


def _lines(text: Mapping[int, str], here: list[Location], culprit: Location) -> Iterator[CodeLine]:
    marked: dict[int, list[Location]] = {}
    for location in here:
        marked.setdefault(location.lineno, []).append(location)
    wanted = _wanted(here, culprit, text)
    # Where the text is not known, a line knows itself.
    texts = {number: text.get(number) or (marked[number][0].source if number in marked else "") for number in wanted}
    indent = _common_indent(texts.values())
    for number in wanted:
        at = marked.get(number, [])
        yield CodeLine(
            number,
            _storable(cut_around(texts[number][indent:], at[0].expression if len(at) == 1 else "")),
            role=", ".join(dict.fromkeys(location.role or "here" for location in at)),
            expression=_storable(at[0].expression) if len(at) == 1 else "",
            culprit=culprit in at,
        )


def _wanted(here: list[Location], culprit: Location, text: Mapping[int, str]) -> list[int]:
    """The numbers of the lines to show, ascending; no blank line stands at an end of a stretch."""
    marked = dict.fromkeys(location.lineno for location in here)
    numbers = dict.fromkeys(marked)
    for location in here:
        around = _AROUND_CULPRIT if location == culprit else 0 if location.role == CALLER else _AROUND
        end = max(location.end_lineno, location.lineno)
        numbers |= dict.fromkeys(n for n in range(location.lineno - around, end + around + 1) if n in text)
    shown = set(sorted(numbers, key=lambda number: number not in marked)[:_MOST_LINES])
    return [n for n in sorted(shown) if n in marked or text[n].strip() or {n - 1, n + 1} <= shown]


def _common_indent(lines: Iterable[str]) -> int:
    return min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)


def _storable(text: str) -> str:
    """A lone surrogate, which JSON cannot carry, spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()
