"""Whether whoever opened a capture can still close it. An interrupt may have kept it from doing so."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from opcode import opmap
from types import CodeType, FrameType

from autograd_inspector.capture.lines.frames import running

_CLEANUP = opmap["WITH_EXCEPT_START"]

Held = Callable[[], bool]
"""Whether a capture that is open may still be closed."""

_NEAR = 16
"""So many bytes behind the instruction that enters a ``with`` its block begins at the latest."""


def by(owner: object) -> Held:
    """As long as that object lives."""
    reference = weakref.ref(owner)
    return lambda: reference() is not None


def during(frame: FrameType) -> Held:
    """As long as that frame runs."""
    return lambda: any(each is frame for each in running())


def in_block(frame: FrameType) -> Held | None:
    """As long as that frame is in the block of the ``with`` statement that it is entering; None where it enters none.

    CPython can be interrupted between the block and ``__exit__``, which then is never called (bpo-29988).
    """
    table = _Table(frame.f_code)
    cleanup = table.entered_at(frame.f_lasti)
    return None if cleanup is None else lambda: table.is_inside(frame.f_lasti, cleanup)


class _Table:
    """Which instructions of a function are covered by which handler (its ``co_exceptiontable``)."""

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._entries = list(_entries(code.co_exceptiontable))

    def entered_at(self, at: int) -> int | None:
        """The handler of the block that a ``with`` enters at that instruction: it calls ``__exit__``."""
        outside = self._handler_of(at)
        begins = [(start, handler) for start, _, handler in self._entries if at < start <= at + _NEAR]
        handler = min(begins, default=(0, outside))[1]
        return handler if handler != outside and handler is not None and self._exits(handler) else None

    def is_inside(self, at: int, cleanup: int) -> bool:
        """Whether an instruction lies in what that handler covers, or in a handler that itself does."""
        seen: set[int] = set()
        handler = self._handler_of(at)
        while handler is not None and handler != cleanup and handler not in seen:
            seen.add(handler)
            handler = self._handler_of(handler)
        return handler == cleanup

    def _handler_of(self, at: int) -> int | None:
        return next((handler for start, end, handler in self._entries if start <= at < end), None)

    def _exits(self, handler: int) -> bool:
        return _CLEANUP in self._code.co_code[handler : handler + _NEAR : 2]


def _entries(table: bytes) -> Iterator[tuple[int, int, int]]:
    """(start, end, handler) in bytes; each entry is four numbers of six bits a byte (exception_handling_notes.txt)."""
    numbers: list[int] = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 0x3F
        if not byte & 0x40:
            numbers.append(2 * value)
            value = 0
    for start, length, handler in zip(numbers[::4], numbers[1::4], numbers[2::4], strict=False):
        yield start, start + length, handler
