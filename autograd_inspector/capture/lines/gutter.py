"""The text of a file or cell by the numbers of the editor's gutter: what a finding's excerpts are taken from."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_inspector.capture.lines.cells import cell_at, lines_of

_TAB = 4


def text_of(filename: str) -> dict[int, str]:
    """The lines by their numbers, as they are shown; none where the text cannot be had any more."""
    return {number: line.expandtabs(_TAB).rstrip() for number, line in enumerate(_typed(filename), 1)}


def whole_text_of(filename: str) -> str:
    """The text as it was typed; "" where it cannot be had any more."""
    lines = _typed(filename)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines[:-1]) + "".join(lines[-1:])


def _typed(filename: str) -> Sequence[str]:
    cell = cell_at(filename)
    return cell.typed if cell is not None and cell.typed else lines_of(filename)
