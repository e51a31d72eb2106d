"""Text of the program as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`+[^`]*`+)")
_SPECIAL = re.compile(r"([*_<\[\]|\\])")


def escaped(text: str) -> str:
    """Plain text that Markdown shows as it stands; what is in backticks stays code."""
    parts = _CODE.split(text)
    return "".join(part if index % 2 else _SPECIAL.sub(r"\\\1", part) for index, part in enumerate(parts))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar inside code would end its column."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(lines_of)} |" for lines_of in lines) + "\n"


def code(text: str) -> str:
    """Something typed, inside a table's cell."""
    return f"`{text}`".replace("|", r"\|")


def block(language: str, text: str) -> str:
    """Lines of code."""
    return f"```{language}\n{text.strip(chr(10))}\n```\n"
