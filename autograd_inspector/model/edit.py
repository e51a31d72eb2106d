"""Changes to the text of the program that cure a finding."""

from __future__ import annotations

from typing import Literal

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
