"""The lines that read what lies in a storage."""

from __future__ import annotations

from bisect import bisect_left

from autograd_inspector.model.capture import Capture

_Line = tuple[str, int] | None


class MemoryReads:
    """Storage -> the ops that read it in program order, whichever alias they were given, with their lines."""

    def __init__(self, capture: Capture) -> None:
        self._reads: dict[int, list[int]] = {}
        for op in capture.ops:
            for storage in {capture.tensors[tensor].storage for tensor in op.inputs} - {-1}:
                self._reads.setdefault(storage, []).append(op.index)
        self._lines = {
            storage: [_line_of(capture, capture.ops[at].site) for at in reads] for storage, reads in self._reads.items()
        }
        self._changes = {storage: _changes(lines) for storage, lines in self._lines.items()}

    def on_another_line(self, storage: int, line: _Line, start: int, end: int) -> bool:
        """Whether one of the ops ``start`` to ``end`` reads it that is not of that line."""
        reads = self._reads.get(storage, [])
        at = bisect_left(reads, start)
        if at < len(reads) and self._lines[storage][at] == line:
            at = self._changes[storage][at]
        return at < len(reads) and reads[at] < end


def _line_of(capture: Capture, site: int) -> _Line:
    place = capture.place(site)
    return None if place is None else place.line


def _changes(lines: list[_Line]) -> list[int]:
    """For each read the place of the next one of another line; their number where there is none."""
    following = [len(lines)] * len(lines)
    for place in range(len(lines) - 2, -1, -1):
        following[place] = following[place + 1] if lines[place] == lines[place + 1] else place + 1
    return following
