"""What Python itself keeps of an exception, read past what a class of the program's may have put in the way."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

_KEPT: Any = vars(BaseException)

traceback_of: Callable[[BaseException], TracebackType | None] = _KEPT["__traceback__"].__get__
put_traceback: Callable[[BaseException, TracebackType | None], None] = _KEPT["__traceback__"].__set__
cause_of: Callable[[BaseException], BaseException | None] = _KEPT["__cause__"].__get__
context_of: Callable[[BaseException], BaseException | None] = _KEPT["__context__"].__get__
inside_group: Callable[[BaseException], tuple[BaseException, ...]] = vars(BaseExceptionGroup)["exceptions"].__get__
