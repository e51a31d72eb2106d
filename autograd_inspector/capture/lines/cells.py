"""Notebook cells: their label, their text, and which line of the editor's gutter a line of code is.

IPython compiles a cell without its leading blank lines, and without the line of a cell magic; the text that
it keeps for tracebacks starts there. The history has the cell as it was typed.
"""

from __future__ import annotations

import linecache
import re
import sys
from difflib import SequenceMatcher
from typing import Any, NamedTuple

_IPYTHON_NAME = re.compile(r"<ipython-input-(\d+)-")
_CALLED = re.compile(r"get_ipython\(\)\.run_cell_magic\('(\w+)'")
"""What a cell under a cell magic is compiled to: one line, whatever its length."""
_TIMED = ("<timed exec>", "<timed eval>")
"""What IPython's ``%time`` and ``%%time`` call the code that they compile."""


class Cell(NamedTuple):
    """A cell that code comes from: ``text`` as it was compiled, ``typed`` as it stands in the editor.

    ``numbers`` holds, for each line of the text, its number in the editor's gutter.
    """

    label: str
    text: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    typed: tuple[str, ...] = ()

    def gutter(self, line: int) -> int:
        """The gutter's number for a line of the compiled text."""
        return self.numbers[line - 1] if 0 < line <= len(self.numbers) else line


def cell_at(filename: str) -> Cell | None:
    """The cell behind a compiled file name, None for a file."""
    shell = _shell()
    if filename in _TIMED:
        return _timed(_history(shell, -1), len(_inputs(shell)) - 1)
    count = _count(shell, filename)
    if count is None:
        return None
    # A magic such as %%capture runs its body as a cell of its own, which gets the next number.
    lines_and_inputs = linecache.getlines(filename), {number: _history(shell, number) for number in (count, count - 1)}
    cached = _KNOWN.get(filename)
    if cached is None or cached[0] is not lines_and_inputs[0] or cached[1] != lines_and_inputs[1]:
        cached = _KNOWN[filename] = *lines_and_inputs, _cell(*lines_and_inputs)
        if len(_KNOWN) > _ROOM:
            del _KNOWN[next(iter(_KNOWN))]
    return cached[2]


_ROOM = 512
_KNOWN: dict[str, tuple[list[str], dict[int, str], Cell]] = {}
"""Cells that were looked up: every line of them is asked for on its own."""


def _cell(lines: list[str], candidates: dict[int, str]) -> Cell:
    """The cell that the compiled lines come from: of those that were typed, the one that has most of them."""
    text = tuple(lines)
    alignments = [(number, typed, *_aligned(typed, text)) for number, typed in candidates.items() if typed]
    number, typed, same, numbers = max(alignments, key=lambda one: one[2], default=(next(iter(candidates)), "", 0, ()))
    if not same:
        return Cell(f"In [{next(iter(candidates))}]", text)
    return Cell(f"In [{number}]", text, numbers, tuple(typed.splitlines()))


def is_timed(filename: str) -> bool:
    """Whether this is the code of ``%time``, whose own line in the cell is what a reader looks for."""
    return filename in _TIMED and cell_at(filename) is None


def lines_of(filename: str) -> list[str]:
    """The source text that was compiled, line by line; empty when it cannot be had."""
    try:
        lines = linecache.getlines(filename)
    except ValueError:  # A name that no file can have: with a NUL or a lone surrogate in it.
        lines = []
    cell = cell_at(filename) if not lines and filename in _TIMED else None
    return lines if cell is None else list(cell.text)


def typed_line(cell: Cell, line: int) -> str:
    """A magic as the user wrote it: `%time f()`, not the call that it became; "" for other lines."""
    number = cell.gutter(line)
    typed = cell.typed[number - 1].strip() if 0 < number <= len(cell.typed) else ""
    return typed if typed.startswith(("%", "!")) or "= %" in typed or "= !" in typed else ""


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _count(shell: Any, filename: str) -> int | None:
    count = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(filename)
    named = _IPYTHON_NAME.match(filename)
    return count if count is not None or named is None else int(named[1])


def _inputs(shell: Any) -> list[str]:
    return getattr(getattr(shell, "history_manager", None), "input_hist_raw", None) or []


def _history(shell: Any, number: int) -> str:
    """The cell of that number as it was typed, "" when it was not kept."""
    inputs = _inputs(shell)
    return inputs[number] if -len(inputs) <= number < len(inputs) else ""


def _aligned(raw: str, text: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    """How many lines of the compiled text stand in the cell as typed, and the gutter's number for each line.

    Lines that IPython rewrote (magics, shell escapes) lie behind the line before them.
    """
    typed = [line.strip() for line in raw.splitlines()]
    lines = [line.strip() for line in text]
    called = _CALLED.match(lines[0]) if lines else None
    if called is not None:
        tops = [number for number, line in enumerate(typed, 1) if line.startswith(f"%%{called[1]}")]
        return len(tops[:1]), tuple(tops[:1]) * len(lines)
    above = len(typed) - len(lines)
    if above >= 0 and typed[above:] == lines:  # As nearly every cell: to compare line by line takes far longer.
        return sum(map(bool, lines)), tuple(range(above + 1, len(typed) + 1))
    same = 0
    numbers = [0] * len(lines)
    for block in SequenceMatcher(None, lines, typed, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            numbers[block.a + offset] = block.b + offset + 1
            same += bool(lines[block.a + offset])
    first = next((index for index, number in enumerate(numbers) if number), 0)
    before = max(numbers[first] - first - 1, 0) if numbers else 0
    for index, number in enumerate(numbers):
        before = numbers[index] = number or before + 1
    return same, tuple(numbers)


def _timed(raw: str, number: int) -> Cell | None:
    """The body of a ``%%time`` cell; None where ``%time`` stands on a line of its own."""
    typed = raw.splitlines(keepends=True)
    top = next((n for n, line in enumerate(typed) if line.strip() and not line.lstrip().startswith("%%")), len(typed))
    if not any(line.lstrip().startswith("%%time") for line in typed[:top]):
        return None
    return Cell(f"In [{number}]", tuple(typed[top:]), tuple(range(top + 1, len(typed) + 1)), tuple(typed))
