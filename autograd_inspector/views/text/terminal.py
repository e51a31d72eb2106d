"""What a stream can show: how wide a line of text may be there, and whether in colour."""

from __future__ import annotations

from typing import IO, Literal

from msgspec import Struct
from rich.console import Console

WIDTH = 100
"""Columns of a text that goes into a file, a log or a pipe: the same wherever it is made."""

NARROWEST = 20
Color = Literal["auto", "always", "never"]


class Terminal(Struct, frozen=True):
    """``width`` in columns; ``color``: whether the text has ANSI colours; ``encoding``: of characters, None: any.

    ``height``: lines that are seen at once, 0 where it is no terminal.
    """

    width: int = WIDTH
    color: bool = False
    encoding: str | None = None
    height: int = 0


def terminal_of(stream: IO[str] | None, *, width: int | None = None, color: Color = "auto") -> Terminal:
    """Of a terminal its own width, and colours unless NO_COLOR is set or TERM is "dumb"; FORCE_COLOR asks for them.

    None is a stream that was closed before Python began. ``width`` and ``color`` other than "auto" come before what the
    stream and the environment say.
    """
    if stream is None:
        return Terminal(width or WIDTH, color == "always")
    console = Console(file=stream, force_jupyter=False)
    if width is None:
        width = max(console.width, NARROWEST) if _shows(stream) else WIDTH
    colored = console.color_system is not None and not console.no_color
    encoding = getattr(stream, "encoding", None)
    height = console.height if _shows(stream) else 0
    return Terminal(width, colored if color == "auto" else color == "always", encoding, height)


def _shows(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False
