"""Where a line of source may go on below: between words, after a bracket or a comma, before an attribute."""

from __future__ import annotations

import re

_BREAK = re.compile(r"(?<=[(\[{,])(?=[^\s)\]}])|(?<=\S)(?=\.[^\W\d])|(?<=\s)(?=\S)")


def unbroken(line: str) -> list[str]:
    """The pieces that stay whole, which together are the line; its indentation is not one of them."""
    indent = line[: len(line) - len(line.lstrip())]
    first, *rest = _BREAK.split(line[len(indent) :])
    return [indent + first, *rest]
