"""Which arguments a call passes, read off the instruction that runs in the caller's frame."""

from __future__ import annotations

from types import CodeType, FrameType

from autograd_inspector.capture.lines.bytecode import called_with


class Passed:
    """Looks once at each call."""

    def __init__(self) -> None:
        self._calls: dict[tuple[int, int], tuple[CodeType, tuple[int, tuple[str, ...]] | None]] = {}
        """With the code itself, so that its id stays its own."""

    def passes(self, callee: CodeType, frame: FrameType | None, name: str, place: int) -> bool:
        """Whether the innermost running call of a function, from a frame on, passes an argument by name or at a place.

        True where that cannot be told: no such call runs, or it has ``*args`` or ``**kwargs``.
        """
        while frame is not None and frame.f_code is not callee:
            frame = frame.f_back
        caller = None if frame is None else frame.f_back
        counted = None if caller is None else self._counted(caller)
        return counted is None or counted[0] > place or name in counted[1]

    def _counted(self, caller: FrameType) -> tuple[int, tuple[str, ...]] | None:
        key = (id(caller.f_code), caller.f_lasti)
        cached = self._calls.get(key)
        if cached is None:
            cached = self._calls[key] = (caller.f_code, called_with(caller.f_code, caller.f_lasti))
        return cached[1]
