"""Files that were read: each is parsed once for as long as its text stays the same."""

from __future__ import annotations

from autograd_inspector.source.index import Source
from autograd_inspector.source.parsed import parsed

_ROOM = 256
"""So many files are remembered, the latest."""

_READ: dict[str, tuple[list[str], Source | None]] = {}


def source_of(filename: str, lines: list[str]) -> Source | None:
    """The index of a file with those lines; None where they are no Python, or more than is parsed."""
    shelved = _READ.get(filename)
    # The line cache gives out one list for as long as the file does not change: to compare it takes no time.
    if shelved is not None and (shelved[0] is lines or shelved[0] == lines):
        return shelved[1]
    tree = parsed("".join(lines)) if lines else None
    _READ.pop(filename, None)
    _READ[filename] = lines, None if tree is None else Source(tree)
    while len(_READ) > _ROOM:
        del _READ[next(iter(_READ))]
    return _READ[filename][1]
