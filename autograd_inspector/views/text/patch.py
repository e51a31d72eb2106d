"""A unified diff in a terminal's colours."""

from __future__ import annotations

from typing import Final

_RESET: Final = "\x1b[0m"
_STYLES: Final = (
    (("--- ", "+++ "), "\x1b[1m"),
    (("@@",), "\x1b[36m"),
    (("-",), "\x1b[31m"),
    (("+",), "\x1b[32m"),
)
"""How a line begins -> its style; the first that fits. Those of `git diff`."""


def coloured(patch: str) -> str:
    """The patch with ANSI colours; controls of the program's text are shown, not obeyed."""
    return "".join(_line(line) for line in patch.splitlines(keepends=True))


def _line(line: str) -> str:
    text = line.rstrip("\n")
    end = line[len(text) :]
    visible = "".join(c if c == "\t" or c.isprintable() else repr(c)[1:-1] for c in text)
    style = next((style for begins, style in _STYLES if text.startswith(begins)), "")
    return f"{style}{visible}{_RESET}{end}" if style else f"{visible}{end}"
