"""Lines that are too long to be shown whole: what they are shown for stays in sight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

LONGEST = 200
"""Characters of a line of code."""
_BEFORE = 0.4
"""Of the room around the part that matters, what stands in front of it."""


def cut_around(text: str, part: str, longest: int = LONGEST) -> str:
    """The text, or of a longer one what stands around ``part``, between ellipses; the beginning where it has no part.

    Its indentation stays.
    """
    at = text.find(part) if part else -1
    return text if len(text) <= longest else _window(text, max(at, 0), at + len(part) if at >= 0 else 0, longest)


def cut_changes(lines: Sequence[str], longest: int = LONGEST) -> tuple[str, ...]:
    """Lines of a patch: of a long one that replaces another, what stands around the difference."""
    cut = list(lines)
    for removed, added in _replaced(lines):
        one, other = lines[removed][1:], lines[added][1:]
        before = _alike(one, other)
        behind = min(_alike(one[::-1], other[::-1]), len(one) - before, len(other) - before)
        for number, line in ((removed, one), (added, other)):
            if len(line) > longest:
                cut[number] = lines[number][0] + _window(line, before, len(line) - behind, longest)
    return tuple(line if len(line) <= longest + 1 else line[:1] + _window(line[1:], 0, 0, longest) for line in cut)


def _alike(one: str, other: str) -> int:
    """With how many characters both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _replaced(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The numbers of a removed line and of the one that stands for it, where as many come as go."""
    start = 0
    while start < len(lines):
        removed = _run(lines, start, "-")
        added = _run(lines, removed, "+")
        if removed - start == added - removed:
            yield from zip(range(start, removed), range(removed, added), strict=True)
        start = max(added, start + 1)


def _run(lines: Sequence[str], start: int, sign: str) -> int:
    """Where the lines that begin with the sign end."""
    while start < len(lines) and lines[start].startswith(sign):
        start += 1
    return start


def _window(text: str, start: int, end: int, longest: int) -> str:
    """``longest`` characters in which those from start to end are in sight, or the first of them."""
    indent = text[: len(text) - len(text.lstrip())][: longest // 2]
    room = max(longest - len(indent) - 4, 1)
    left = max(start - int((room - min(end - start, room)) * _BEFORE), len(indent))
    left = len(indent) if left <= len(indent) + 2 else min(left, max(len(text) - room, len(indent)))
    right = left + room
    return f"{indent}{'… ' if left > len(indent) else ''}{text[left:right]}{' …' if right < len(text) else ''}"
