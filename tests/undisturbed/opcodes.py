"""Being told of each instruction that CPython is about to run, and making a signal pending before it.

By `sys.monitoring` where it is there: since CPython 3.12 `sys.settrace` stands upon it, and on some releases
(3.12.1, 3.13.0) leaves out the instructions of some functions.
"""

from __future__ import annotations

import _thread
import sys
from collections import defaultdict
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Self

Told = Callable[[CodeType, int], bool]
_PENDING: defaultdict[int, Any] = defaultdict(_thread.interrupt_main)
"""Looking a missing key up makes SIGINT pending, in an instruction that does not look for signals itself.

So nothing is called between that and the end of the function that CPython calls before an instruction.
"""


class _Traced:
    """By `sys.settrace`, in the thread that begins it."""

    def __init__(self, told: Told, entered: Told | None = None) -> None:
        self._told, self._entered = told, entered
        self._only: CodeType | None = None

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def watch(self, only: CodeType | None = None, frame: FrameType | None = None) -> None:
        """Tell of all functions, or of one; of a frame that runs already, and of those that wait for it, too."""
        self._only = only
        while frame is not None and only is not None:
            if frame.f_code is only:
                frame.f_trace, frame.f_trace_opcodes = self._local, True
            frame = frame.f_back
        sys.settrace(self._called)

    def _called(self, frame: FrameType, _event: str, _: object) -> Any:
        if self._only is not None and frame.f_code is not self._only:
            return None
        if self._entered is not None:
            self._entered(frame.f_code, frame.f_lasti)
        frame.f_trace_opcodes = True
        return self._local

    def _local(self, frame: FrameType, event: str, _: object) -> Any:
        if event != "opcode" or not self._told(frame.f_code, frame.f_lasti):
            return self._local
        frame.f_trace = None
        sys.settrace(None)
        return _PENDING[len(_PENDING)]


class _Monitored:
    """By `sys.monitoring`, in all threads."""

    _TOOL = 4

    def __init__(self, told: Told, entered: Told | None = None) -> None:
        self._told, self._entered = told, entered
        self._only: CodeType | None = None
        self._held = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held:
            self._ignore()
            sys.monitoring.free_tool_id(self._TOOL)

    def watch(self, only: CodeType | None = None, _frame: FrameType | None = None) -> None:
        """Tell of all functions, or of one."""
        if not self._held:
            self._hold()
        self._only = only
        instruction = sys.monitoring.events.INSTRUCTION
        if only is not None:
            sys.monitoring.set_local_events(self._TOOL, only, instruction)
        else:
            begins = self._beginnings() if self._entered is not None else ()
            sys.monitoring.set_events(self._TOOL, sum(begins, instruction))

    def _hold(self) -> None:
        monitoring = sys.monitoring
        if monitoring.get_tool(self._TOOL) is not None:  # An interrupt struck in `__exit__`.
            monitoring.free_tool_id(self._TOOL)
        monitoring.use_tool_id(self._TOOL, "instants")
        self._held = True
        monitoring.register_callback(self._TOOL, monitoring.events.INSTRUCTION, self._instruction)
        for event in self._beginnings():
            monitoring.register_callback(self._TOOL, event, self._began)

    def _ignore(self) -> None:
        if self._only is not None:
            sys.monitoring.set_local_events(self._TOOL, self._only, 0)
        sys.monitoring.set_events(self._TOOL, 0)

    @staticmethod
    def _beginnings() -> tuple[int, ...]:
        events = sys.monitoring.events
        return events.PY_START, events.PY_RESUME, events.PY_THROW

    def _began(self, code: CodeType, offset: int, *_: object) -> None:
        if self._entered is not None:
            self._entered(code, offset)

    def _instruction(self, code: CodeType, offset: int) -> Any:
        if not self._told(code, offset):
            return None
        self._ignore()
        return _PENDING[len(_PENDING)]


Opcodes = _Monitored if sys.version_info >= (3, 12) else _Traced
"""``Opcodes(told, entered)``: ``told(code, offset)`` before each instruction, ``entered(code, offset)`` where a
function begins or goes on. Where ``told`` returns True, the signal is made pending, and nothing is told until `watch`
is called again.
"""
