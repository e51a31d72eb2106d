"""Numbers and names within a sentence: "3 steps", "a, b and 3 more", "they are"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sized
from itertools import takewhile

_PIECE = re.compile(r"\.\[[^.]*|\[(?:'[^']*'|\"[^\"]*\"|[^\]])*\]|\.?[^.\[]+|\.")
"""A part of a name: ``net``, ``.0``, or what stands in brackets, whatever it is: ``['0.weight']``.

A module may have a name that begins with a bracket: behind a dot it is one.
"""


def agree(subject: int | Sized, one: str, several: str) -> str:
    """The form of a word that agrees with a count, or with how many of something there are: ``is``, ``are``."""
    number = subject if isinstance(subject, int) else len(subject)
    return one if number == 1 else several


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 step``, ``12,000 steps``."""
    return f"{number:,} {agree(number, noun, plural or f'{noun}s')}"


def join_names(names: Iterable[str], limit: int = 6) -> str:
    """``a, b and 3 more``: each name once, in the order given."""
    unique_names = list(dict.fromkeys(names))
    more = f" and {len(unique_names) - limit:,} more" if len(unique_names) > limit else ""
    return ", ".join(unique_names[:limit]) + more


def summarize_names(names: Iterable[str], limit: int = 4, noun: str = "parameters") -> str:
    """Parameter names for a sentence: many of one module become ``net.encoder.* (47 parameters)``.

    A Counter says how many parameters have each name: ``Linear.weight (4 parameters)``.
    """
    number = names if isinstance(names, Counter) else Counter(dict.fromkeys(names, 1))
    unique_names = list(number)
    groups: dict[str, list[str]] = {name: [name] for name in unique_names}
    if len(unique_names) > limit:
        paths = [_pieces(name) for name in unique_names]
        columns = zip(*(path[:-1] for path in paths), strict=False)
        shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
        # All in one layer: that. All in one model: its layers. In several: the models.
        depth = shared if shared > 1 else shared + 1
        groups = {}
        for name, path in zip(unique_names, paths, strict=True):
            groups.setdefault("".join(path[:depth]), []).append(name)
    parts = []
    for head, group_names in groups.items():
        count = sum(number[name] for name in group_names)
        what = f"{head}.*" if len(group_names) > 1 else group_names[0]
        parts.append(f"{what} ({count:,} {noun})" if count > 1 else what)
    return join_names(parts, 6)


def _pieces(name: str) -> list[str]:
    """The parts of a path; what is said in words has none."""
    pieces: list[str] = _PIECE.findall(name)
    return [name] if any(" " in piece and piece[0] != "[" for piece in pieces) else pieces
