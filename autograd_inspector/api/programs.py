"""The files and cells that a report's findings are in, each read once."""

from __future__ import annotations

from autograd_inspector.capture.lines.gutter import whole_text_of
from autograd_inspector.edits.program import Program
from autograd_inspector.model.location import Location


class Programs:
    """Programs by the name of their file, as they were when the report was made."""

    def __init__(self) -> None:
        self._read: dict[str, Program | None] = {}

    def __call__(self, at: Location) -> Program | None:
        """The program that something ran in; None for a library, and where the text is not known."""
        return None if at.library else self.named(at.filename, at.cell)

    def named(self, filename: str, cell: str | None) -> Program | None:
        """The program in a file, or in a cell with that execution count ("In [3]")."""
        if filename not in self._read:
            text = whole_text_of(filename)
            self._read[filename] = Program(filename, cell, text) if text else None
        return self._read[filename]
