"""Changes to the text of the program that cure a finding."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

Applicability = Literal["safe", "unsafe", ""]
"""Of a finding's edits: "safe" keeps what the program means, apart from the fault; "" where there are none."""

Verdict = Literal["cured", "not cured", ""]
"""Of a trial run with a finding's edits; "" where there was none."""


class Edit(Struct, frozen=True, omit_defaults=True):
    """A replacement: ``text`` replaces the range between two positions of a file or a notebook cell.

    ``lineno`` and ``end_lineno`` count from 1 as in the editor, ``column`` and ``end_column`` from 0, in UTF-8 bytes.
    ``cell`` is the execution count of the notebook cell ("In [3]"), None in a file.
    """

    filename: str
    cell: str | None
    lineno: int
    column: int
    end_lineno: int
    end_column: int
    text: str


class Alternative(Struct, frozen=True, omit_defaults=True):
    """Other edits that together fix a finding: what to try where the finding's own do not cure it.

    ``patch`` is their unified diff, ``verified`` what a trial run with them showed.
    """

    edits: tuple[Edit, ...]
    patch: str = ""
    verified: Verdict = ""


Obstacle = Literal["choice", "no line", "library", "no source", "form", "no value"]
"""Why there is no edit: no one change is right for every program; no line, a line of a library, or a line whose text
is not known; a line that is written in a way that no edit is known for; a new text that reads a name without a value.
"""


class Unedited(Struct, frozen=True, omit_defaults=True):
    """Why a finding has no edit; ``about``: the library's file, the source, the line, or the name without a value."""

    obstacle: Obstacle
    about: str = ""

    @property
    def sentence(self) -> str:
        """``the line is in a library (torch/nn/functional.py)``."""
        return _SENTENCES[self.obstacle].format(self.about)


_SENTENCES: Final[dict[Obstacle, str]] = {
    "choice": "the fix is a choice: the program does not show which change is right",
    "no line": "no line of the program is known for it",
    "library": "the line is in a library ({})",
    "no source": "the source of {} cannot be read",
    "form": "no edit is known for the way {} is written",
    "no value": "the fix needs `{}`, which has no value at that line",
}


class Written(Struct, frozen=True):
    """What can be written of a finding's cures: the edits of the first, those of others, or why there are none."""

    edits: tuple[Edit, ...] = ()
    others: tuple[tuple[Edit, ...], ...] = ()
    unedited: Unedited | None = None
