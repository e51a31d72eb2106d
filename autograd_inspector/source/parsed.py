"""Text -> syntax tree."""

from __future__ import annotations

import ast

BUDGET = 1_000_000
"""Longer texts (in characters, about 25,000 lines) are not parsed: what a generator wrote takes more than it tells."""


def is_too_long(lines: list[str]) -> bool:
    """Whether a file is beyond the budget."""
    return sum(map(len, lines)) > BUDGET


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a file or a notebook's cell; None where the text is no Python, or beyond the budget."""
    if len(text) > BUDGET:
        return None
    tree = _tree(text)
    if tree is not None:
        return tree
    # A notebook cell may hold magics; blank those lines out so that the rest keeps its numbers.
    blanked = "\n".join("" if line.lstrip().startswith(("%", "!", "?")) else line for line in text.split("\n"))
    return _tree(blanked)


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # The last two: a sum of ten thousand terms, say.
        return None
