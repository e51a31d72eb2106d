"""What a pickle would build, reckoned opcode by opcode: how much of it, how deep, by which calls. Nothing is built.

``torch.load(weights_only=True)`` runs no foreign code, but does build whatever it is told to: 388 bytes can ask for
8 GB (``bytearray(8_000_000_000)``). This goes through the same opcodes before, and refuses what is not in the file.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from autograd_inspector.capture.checkpoint_files.calls import Calls
from autograd_inspector.capture.checkpoint_files.values import Built, HostileError, UnreadError, weight_of

_MOST_STEPS = 10_000_000
_STEP, _OBJECT, _CALL = 40, 300, 600
"""Bytes that an opcode costs, about: a number in a list; a container; a tensor. Here and in torch's own unpickler."""
_ROOM, _PER_BYTE = 100_000_000, 10
"""Memory that a pickle may take, and what it may take for each byte of the file beside that."""
_DEEPEST = 200
_SPREAD, _SPREAD_EACH = 1_000_000, 20
"""Objects that it may seem to have when shared ones are counted wherever they stand, and so many an opcode."""
_LOOKS = 1023
_LATE = 16
"""Times that something may grow after it was put into something else: only what contains itself does."""
_KEY = 100
_SHORT = 64


class Machine:
    """Goes through pickles in ``data`` one after another."""

    def __init__(self, data: Any, calls: Calls, size: int) -> None:
        self._data = data
        self._calls = calls
        self._allowed = _ROOM + _PER_BYTE * size
        self._at = 0
        self._steps = 0
        self._cost = 0
        self._late = 0
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._handlers: list[Callable[[Machine], None] | None] = [None] * 256
        for code, handler in _HANDLERS.items():
            self._handlers[code] = handler

    def run(self, start: int) -> int:
        """Go through one pickle; returns where it ends.

        Raises HostileError; EOFError where it is cut short; UnreadError at an opcode at which torch gives up, too.
        """
        self._at, self._stack, self._marks, self._memo = start, [], [], {}
        data, handlers, steps = self._data, self._handlers, self._steps
        try:
            while True:
                code = data[self._at]
                self._at += 1
                steps += 1
                handler = handlers[code]
                if handler is None:
                    self._within(steps)
                    if code == _STOP:
                        return self._at
                    raise UnreadError
                handler(self)
                if not steps & _LOOKS:
                    self._within(steps)
        except (IndexError, KeyError, struct.error):
            raise EOFError from None

    def _within(self, steps: int) -> None:
        """Asked now and then: an opcode costs less than the question."""
        self._steps = steps
        if steps > _MOST_STEPS or self._cost + _STEP * steps > self._allowed:
            raise HostileError("contains a pickle that needs far more memory than the file has bytes")

    def _take(self, count: int) -> bytes:
        data = self._data[self._at : self._at + count]
        if len(data) < count:
            raise EOFError
        self._at += count
        return bytes(data)

    def _number(self, count: int) -> int:
        """Cut short it is another number: then what follows it is not there either."""
        self._at += count
        return int.from_bytes(self._data[self._at - count : self._at], "little")

    def _line(self) -> str:
        end = self._data.find(b"\n", self._at)
        if end < 0:
            raise EOFError
        return self._take(end + 1 - self._at)[:-1].decode("utf-8", "replace")

    def _popped(self) -> list[Any]:
        items, self._stack = self._stack, self._marks.pop()
        return items

    def _built(self, kind: str, *, items: Any = (), weight: int = 1) -> Built:
        self._cost += _OBJECT
        return Built(kind, items=items, weight=weight)

    def _tuple_with(self, items: list[Any]) -> Built:
        made = self._built("tuple", items=tuple(items))
        self._put(made, items)
        return made

    def _put(self, into: Any, items: Any) -> None:
        if not isinstance(into, Built):
            return  # torch refuses that itself.
        if into.held:
            self._late += 1
            if self._late > _LATE:
                raise HostileError("contains a structure that contains itself")
        weight, depth = into.weight + len(items), into.depth
        for item in items:
            if type(item) is Built:
                item.held = True
                weight += item.weight - 1
                if item.depth >= depth:
                    depth = item.depth + 1
        into.weight, into.depth = weight, depth
        if depth > _DEEPEST:
            raise HostileError(f"contains a structure nested more than {_DEEPEST} deep")
        if weight > _SPREAD and weight > _SPREAD + _SPREAD_EACH * self._steps:
            raise HostileError("contains a structure that expands from a few objects to millions")

    def _text(self, count: int) -> None:
        start, end = self._at, self._at + count
        if end > len(self._data):
            raise EOFError
        self._at = end
        if count <= _SHORT:
            self._stack.append(bytes(self._data[start:end]))
            return
        self._cost += 4 * count
        self._stack.append(self._built("text", weight=1 + count // _STEP))

    def _call(self, args: Any, function: Any) -> Any:
        self._cost += _CALL + _STEP * weight_of(args)
        made = self._calls.result(function, args)
        self._put(made, (args,))
        return made

    # One method for each opcode that torch's unpickler reads; it refuses all others.

    def _proto(self) -> None:
        self._at += 1

    def _global(self) -> None:
        module, name = self._line(), self._line()
        self._stack.append(self._built("global", items=f"{module}.{name}"))

    def _newobj(self) -> None:
        args, function = self._stack.pop(), self._stack.pop()
        self._stack.append(self._call(args, function))

    def _build(self) -> None:
        state = self._stack.pop()
        self._calls.state(state)
        self._put(self._stack[-1], (state,))

    def _append(self) -> None:
        item = self._stack.pop()
        self._put(self._stack[-1], (item,))

    def _appends(self) -> None:
        items = self._popped()
        self._put(self._stack[-1], items)

    def _setitem(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        _hashable(key)
        self._put(self._stack[-1], (key, value))

    def _setitems(self) -> None:
        items = self._popped()
        for key in items[::2]:
            _hashable(key)
        self._put(self._stack[-1], items)

    def _mark(self) -> None:
        self._marks.append(self._stack)
        self._stack = []

    def _tuple(self) -> None:
        items = self._popped()
        self._stack.append(self._tuple_with(items))

    def _one(self) -> None:
        self._tuple_of(1)

    def _two(self) -> None:
        self._tuple_of(2)

    def _three(self) -> None:
        self._tuple_of(3)

    def _tuple_of(self, count: int) -> None:
        items = self._stack[-count:]
        if len(items) < count:
            raise EOFError
        self._stack[-count:] = [self._tuple_with(items)]

    def _persistent(self) -> None:
        self._stack[-1] = self._calls.storage(self._stack[-1])

    def _get(self) -> None:
        self._stack.append(self._memo[self._data[self._at]])
        self._at += 1

    def _far_get(self) -> None:
        self._stack.append(self._memo[self._number(4)])

    def _remember(self) -> None:
        self._memo[self._data[self._at]] = self._stack[-1]
        self._at += 1

    def _far_remember(self) -> None:
        self._memo[self._number(4)] = self._stack[-1]

    def _small(self) -> None:
        self._stack.append(self._data[self._at])
        self._at += 1

    def _integer(self) -> None:
        self._stack.append(int.from_bytes(self._take(4), "little", signed=True))

    def _unsigned(self) -> None:
        self._stack.append(self._number(2))

    def _long(self) -> None:
        self._stack.append(int.from_bytes(self._take(self._number(1)), "little", signed=True))

    def _float(self) -> None:
        self._stack.append(struct.unpack(">d", self._take(8))[0])

    def _short_text(self) -> None:
        self._text(self._number(1))

    def _long_text(self) -> None:
        self._text(self._number(4))

    def _none(self) -> None:
        self._stack.append(None)

    def _false(self) -> None:
        self._stack.append(False)

    def _true(self) -> None:
        self._stack.append(True)

    def _empty_tuple(self) -> None:
        self._stack.append(self._built("tuple"))

    def _empty_list(self) -> None:
        self._stack.append(self._built("list"))

    def _empty_dict(self) -> None:
        self._stack.append(self._built("dict"))

    def _empty_set(self) -> None:
        self._stack.append(self._built("set"))


def _hashable(key: Any) -> None:
    if isinstance(key, Built) and key.kind != "text" and key.weight > _KEY:
        raise HostileError("holds a dict whose keys are large structures")


_STOP = ord(".")
_HANDLERS: dict[int, Callable[[Machine], None]] = {
    0x80: Machine._proto,
    ord("c"): Machine._global,
    ord("R"): Machine._newobj,
    0x81: Machine._newobj,
    ord("b"): Machine._build,
    ord("a"): Machine._append,
    ord("e"): Machine._appends,
    ord("s"): Machine._setitem,
    ord("u"): Machine._setitems,
    ord("("): Machine._mark,
    ord("t"): Machine._tuple,
    0x85: Machine._one,
    0x86: Machine._two,
    0x87: Machine._three,
    ord("N"): Machine._none,
    0x89: Machine._false,
    0x88: Machine._true,
    ord(")"): Machine._empty_tuple,
    ord("]"): Machine._empty_list,
    ord("}"): Machine._empty_dict,
    0x8F: Machine._empty_set,
    ord("J"): Machine._integer,
    ord("K"): Machine._small,
    ord("M"): Machine._unsigned,
    ord("G"): Machine._float,
    ord("X"): Machine._long_text,
    ord("U"): Machine._short_text,
    ord("Q"): Machine._persistent,
    ord("h"): Machine._get,
    ord("j"): Machine._far_get,
    ord("q"): Machine._remember,
    ord("r"): Machine._far_remember,
    0x8A: Machine._long,
}
