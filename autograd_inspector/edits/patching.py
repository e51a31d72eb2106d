"""Edits + text -> text."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from itertools import accumulate

from autograd_inspector.model.edit import Edit
from autograd_inspector.source.parsed import parsed

Stretch = tuple[int, int, bytes]
"""Begin and end in the bytes of the file, and what takes its place."""


def lines_of(text: str) -> list[bytes]:
    """The lines as Python and editors count them, in UTF-8, with their ends."""
    lines = [f"{line}\n".encode("utf-8", "surrogatepass") for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def patched(text: str, groups: Iterable[Sequence[Edit]]) -> str:
    """The text with the edits made: those of a group all, or none of them where one overlaps an earlier group's."""
    lines = lines_of(text)
    begins = list(accumulate(map(len, lines), initial=0))
    data = b"".join(lines)
    chosen: list[Stretch] = []
    for edits in groups:
        stretches = [_stretch(edit, begins, lines) for edit in edits]
        new = [stretch for stretch in stretches if stretch is not None and stretch not in chosen]
        if len(new) < len(edits) and None in stretches:
            continue
        if not any(_collide(one, other) for one in new for other in chosen):
            chosen += new
    # Of insertions at one place the first in order stands first.
    in_order = sorted(chosen, key=lambda one: one[:2])
    for begin, end, new_text in reversed(in_order):
        at_the_end = begin == len(data) and data and not data.endswith(b"\n")
        data = data[:begin] + (b"\n" if at_the_end else b"") + new_text + data[end:]
    return data.decode("utf-8", "surrogatepass")


def _stretch(edit: Edit, begins: Sequence[int], lines: Sequence[bytes]) -> Stretch | None:
    begin = _offset(begins, lines, edit.lineno, edit.column)
    end = _offset(begins, lines, edit.end_lineno, edit.end_column)
    if begin is None or end is None or end < begin:
        return None
    return begin, end, edit.text.encode("utf-8", "surrogatepass")


def _offset(begins: Sequence[int], lines: Sequence[bytes], lineno: int, column: int) -> int | None:
    if lineno == len(lines) + 1 and column == 0:
        return begins[-1]
    if not 1 <= lineno <= len(lines) or not 0 <= column <= len(lines[lineno - 1]):
        return None
    return begins[lineno - 1] + column


def _collide(one: Stretch, other: Stretch) -> bool:
    """Whether two changes concern the same text; two insertions at one place stand one behind the other."""
    if one[0] == one[1] or other[0] == other[1]:
        return other[0] < one[0] < other[1] or one[0] < other[0] < one[1]
    return one[0] < other[1] and other[0] < one[1]


def overlap(text: str, edits: Sequence[Edit]) -> bool:
    """Whether two of the edits concern the same part of the text, or one of them is beyond it."""
    lines = lines_of(text)
    begins = list(accumulate(map(len, lines), initial=0))
    stretches = [_stretch(edit, begins, lines) for edit in edits]
    known = [stretch for stretch in stretches if stretch is not None]
    return len(known) < len(edits) or any(_collide(one, other) for i, one in enumerate(known) for other in known[:i])


def compiles(text: str) -> bool:
    """Whether a program, or a cell with its magics, is Python."""
    tree = parsed(text)
    if tree is None:
        return False
    try:
        compile(tree, "<patched>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def diff(name: str, before: str, after: str) -> str:
    """The unified diff of two texts of one file, as `git apply` and `patch -p1` read it."""
    old, new = ([line.decode("utf-8", "replace") for line in lines_of(text)] for text in (before, after))
    name = name.replace(os.sep, "/").lstrip("/")
    lines = unified_diff(old, new, f"a/{name}", f"b/{name}", n=2)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
