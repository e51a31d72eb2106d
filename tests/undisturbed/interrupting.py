"""Interrupts at chosen instants: a signal is made pending before an instruction, and CPython delivers it.

It looks for signals after a call of a C function, at the beginning of a function of Python's and at the end of a
loop's body: these are the instants at which Ctrl-C, an alarm or a timeout can strike.
"""

from __future__ import annotations

import dis
import gc
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple, Self

import autograd_inspector
from tests.undisturbed.opcodes import Opcodes

PACKAGE = str(Path(autograd_inspector.__file__).parent)
_LOOKS = {
    *("CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "BEFORE_WITH", "WITH_EXCEPT_START", "FOR_ITER"),
}
"""Instructions that look for signals, or that call a function which does."""


class Interrupted(BaseException):
    """What the handler raises, as KeyboardInterrupt is."""


class Instant(NamedTuple):
    """Before the n-th time that an instruction runs."""

    code: CodeType
    lasti: int
    nth: int

    def __str__(self) -> str:
        line = next(line for start, end, line in self.code.co_lines() if start <= self.lasti < end)
        return f"{Path(self.code.co_filename).name}:{line} {self.code.co_qualname}@{self.lasti}#{self.nth}"


def ours(code: CodeType) -> bool:
    """Whether a code object is the inspector's."""
    return code.co_filename.startswith(PACKAGE)


def instants_of(program: Callable[[], object], where: Callable[[CodeType], bool] = ours) -> list[Instant]:
    """The instants of one run at which an interrupt strikes there: the first and the last of each place."""
    seen: dict[tuple[CodeType, int], int] = {}
    outside: dict[tuple[CodeType, int], int] = {}
    entered: dict[tuple[CodeType, int], int] = {}
    before: tuple[CodeType, int] | None = None

    def told(code: CodeType, offset: int) -> bool:
        nonlocal before
        before = (code, offset)
        counts = seen if where(code) else outside
        counts[before] = counts.get(before, 0) + 1
        return False

    def began(code: CodeType, _offset: int) -> bool:
        if where(code) and before is not None and not where(before[0]):
            entered[before] = outside[before]
        return False

    collecting = gc.isenabled()
    gc.disable()  # Whoever is told of a collection is at no place that the next run comes by.
    try:
        with Opcodes(told, began) as opcodes:
            opcodes.watch()
            program()
    finally:
        if collecting:
            gc.enable()
    places = [place for place in seen if _looks(*place)]
    instants = [Instant(*place, nth) for place in places for nth in sorted({1, seen[place]})]
    return instants + [Instant(*place, nth) for place, nth in entered.items()]


def _looks(code: CodeType, lasti: int) -> bool:
    return dis.opname[_opcode(code, lasti)] in _LOOKS


def _opcode(code: CodeType, lasti: int) -> int:
    return dis.opmap.get(_names(code)[lasti], 0)


_NAMES: dict[CodeType, dict[int, str]] = {}


def _names(code: CodeType) -> dict[int, str]:
    if code not in _NAMES:
        _NAMES[code] = {each.offset: each.opname for each in dis.get_instructions(code)}
    return _NAMES[code]


class Interrupts:
    """Strikes at the instants given, one after the other, and counts the strikes."""

    def __init__(self, *instants: Instant) -> None:
        self._left = list(instants)
        self._count = 0
        self._opcodes = Opcodes(self._told)
        self.struck: list[Interrupted] = []
        self.where: list[str] = []

    def __enter__(self) -> Self:
        self._handler = signal.signal(signal.SIGINT, self._raise)
        self._opcodes.__enter__()
        self._arm(sys._getframe(1))
        return self

    def __exit__(self, *_: object) -> None:
        self._opcodes.__exit__()
        signal.signal(signal.SIGINT, self._handler)

    def _arm(self, frame: FrameType | None) -> None:
        if self._left:
            self._count = 0
            self._opcodes.watch(self._left[0].code, frame)

    def _told(self, code: CodeType, offset: int) -> bool:
        if (code, offset) != self._left[0][:2]:
            return False
        self._count += 1
        if self._count < self._left[0].nth:
            return False
        del self._left[0]
        return True

    def _raise(self, _number: int, frame: FrameType | None) -> None:
        error = Interrupted()
        self.struck.append(error)
        if frame is not None:
            self.where.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_qualname}")
        self._arm(frame)
        raise error
