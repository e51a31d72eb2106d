"""The lines that Dynamo writes beside each op, found again in the code objects that it traced."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from types import CodeType

from autograd_inspector.capture.lines.cells import lines_of
from autograd_inspector.capture.lines.stacks import LIBRARY, SKIP, classify

Frame = tuple[CodeType, int, bool]
"""(code, instruction or ``-1 - line``, whether it is a library's), as stacks keep it."""

_LINE = re.compile(r' *File "(?P<file>.*)", line (?P<line>\d+), in (?P<name>.*)')
_MOST_LIBRARY = 3
_INDENT = 4
"""Of the source line and its marks below a frame."""


class CodePlaces:
    """Looks each line up once."""

    def __init__(self, codes: Iterable[CodeType]) -> None:
        self._codes: dict[tuple[str, str], list[CodeType]] = {}
        for code in codes:
            same = self._codes.setdefault((code.co_filename, code.co_name), [])
            if not any(each is code for each in same):
                same.append(code)
        self._known: dict[str, tuple[Frame, ...]] = {}

    @staticmethod
    def files_of(trace: str) -> list[str]:
        """The files outside torch that a trace names."""
        found = [_LINE.fullmatch(line) for line in trace.splitlines()]
        return [each["file"] for each in found if each is not None and classify(each["file"]) != SKIP]

    @staticmethod
    def torchs(trace: str) -> tuple[tuple[str, int], ...]:
        """(file, line) of torch's own frames beneath all others of a trace, innermost first."""
        found = [each for each in map(_LINE.fullmatch, trace.splitlines()) if each is not None]
        own = takewhile(lambda each: classify(each["file"]) == SKIP, reversed(found))
        return tuple([(each["file"], int(each["line"])) for each in own])

    def frames(self, trace: str) -> tuple[Frame, ...]:
        """The frames outside torch of a trace as Python prints it, innermost first."""
        known = self._known.get(trace)
        if known is None:
            known = self._known[trace] = self._read(trace)
        return known

    def _read(self, trace: str) -> tuple[Frame, ...]:
        frames: list[Frame] = []
        lines = trace.splitlines()
        for at, line in enumerate(lines):
            found = _LINE.fullmatch(line)
            if found is None or classify(found["file"]) == SKIP:
                continue
            marks = (*lines[at + 2 : at + 3], "")[0]
            frame = self._frame(found["file"], found["name"], int(found["line"]), marks)
            if frame is not None:
                frames.insert(0, frame)
        users = next((at for at, frame in enumerate(frames) if not frame[2]), len(frames))
        return (*frames[:users][:_MOST_LIBRARY], *[frame for frame in frames if not frame[2]])

    def _frame(self, filename: str, name: str, line: int, marks: str) -> Frame | None:
        library = classify(filename) == LIBRARY
        of_file = [code for (file, _), codes in self._codes.items() if file == filename for code in codes]
        for code in self._codes.get((filename, name), of_file):
            at = _instruction(code, line, _marked(filename, line, marks))
            if at is not None:
                return code, at, library
        return (_elsewhere(of_file[0], name), -1 - line, library) if of_file else None


def _elsewhere(code: CodeType, name: str) -> CodeType:
    """A function of that file of which only the name is known."""
    return code if code.co_name == name else code.replace(co_name=name, co_qualname=name)


def _marked(filename: str, line: int, marks: str) -> tuple[int, int] | None:
    """The columns, in bytes, of the expression that is marked under a line; None where none is."""
    lines = lines_of(filename)
    if not marks.strip() or marks.strip("^~ ") or not 0 < line <= len(lines):
        return None
    text = lines[line - 1]
    begin = len(text) - len(text.lstrip()) - _INDENT
    start, end = begin + len(marks) - len(marks.lstrip()), begin + len(marks.rstrip())
    return len(text[:start].encode()), len(text[:end].encode())


def _instruction(code: CodeType, line: int, marked: tuple[int, int] | None) -> int | None:
    """The instruction for what is marked in a line, ``-1 - line`` where none is; None: the code has no such line."""
    found: int | None = None
    for place, (start, end, column, end_column) in enumerate(code.co_positions()):
        if start != line:
            continue
        found = -1 - line if found is None else found
        if marked is not None and column == marked[0] and (end_column == marked[1] or end != start):
            found = 2 * place
    return found
