"""Methods that run on one object: which of them extend a base class's, which they have called."""

from __future__ import annotations

from types import CodeType, FrameType, FunctionType
from typing import Any

from autograd_inspector.capture.lines.attributes import members_of, order_of
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.stacks import MAX_WALK, SKIP, classify


class Extensions:
    """Looks once at each way to a call: what decides are the functions on it."""

    def __init__(self) -> None:
        self._methods_of_way: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._kept: list[list[CodeType]] = []
        """The code of each way, so that its ids stay its own."""

    def of(self, frame: FrameType | None, stop: FrameType | None) -> tuple[str, ...]:
        """The methods on the stack that a subclass has, and that called a base class's method of the same object."""
        frames = _frames(frame, stop)
        codes = [frame.f_code for frame in frames]
        way = tuple(map(id, codes))
        methods = self._methods_of_way.get(way)
        if methods is None:
            methods = self._methods_of_way[way] = _extending(frames)
            self._kept.append(codes)
        return methods


def _frames(frame: FrameType | None, stop: FrameType | None) -> list[FrameType]:
    """The program's, and those of its libraries, the innermost first."""
    frames: list[FrameType] = []
    for _ in range(MAX_WALK):
        if frame is None:
            break
        if classify(frame.f_code.co_filename) != SKIP:
            frames.append(frame)
        if frame is stop:
            break
        frame = frame.f_back
    return frames


def _extending(frames: list[FrameType]) -> tuple[str, ...]:
    methods, inner, base = [], None, -1
    for frame in frames:
        receiver = _receiver(frame)
        place = -1 if receiver is None else _place(type(receiver), frame.f_code)
        if receiver is not None and receiver is inner and 0 <= place < base:
            methods.append(frame.f_code.co_qualname)
        inner, base = receiver, place
    return tuple(methods)


def _receiver(frame: FrameType) -> Any:
    """What a function was given as its first argument; None where it takes none."""
    code = frame.f_code
    name = code.co_varnames[0] if code.co_argcount else ""
    return next((value for variable, value in locals_of(frame) if variable == name), None) if name else None


def _place(kind: type, code: CodeType) -> int:
    """Where in a class's order of resolution the method stands that has the code; -1 where it is none of that class."""
    for place, base in enumerate(order_of(kind)):
        for held in list(members_of(base).values()):
            if type(held) is FunctionType and code_of(held) is code:
                return place
    return -1
