"""The text of a file or cell by the numbers of the editor's gutter: what a finding's excerpts are taken from."""

from __future__ import annotations

from autograd_inspector.capture.lines.cells import cell_at, lines_of

_TAB = 4


def text_of(filename: str) -> dict[int, str]:
    """The lines by their numbers; none where the text cannot be had any more."""
    cell = cell_at(filename)
    lines = cell.typed if cell is not None and cell.typed else lines_of(filename)
    return {number: line.expandtabs(_TAB).rstrip() for number, line in enumerate(lines, 1)}
