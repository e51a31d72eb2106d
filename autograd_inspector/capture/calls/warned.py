"""torch's warnings point at the line that called torch, though the inspector's frame lies in between."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from autograd_inspector.capture.calls.regions import outside
from autograd_inspector.capture.patches import replaced

_CAPTURE = str(Path(__file__).resolve().parents[1])


class Warned:
    """Moves each warning that C++ raised beneath a frame of ours to the frame that called us."""

    def __init__(self) -> None:
        self._shown: set[tuple[str, type, str, int]] = set()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand before the function that CPython hands every warning that passed the filters."""
        with ExitStack() as stack:
            if "_showwarnmsg" in vars(warnings):
                stack.enter_context(replaced(warnings, "_showwarnmsg", self._before(vars(warnings)["_showwarnmsg"])))
            yield

    def _before(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(original)
        def show(message: Any) -> None:
            if not str(message.filename).startswith(_CAPTURE) or self._moved(message):
                original(message)

        return show

    def _moved(self, message: Any) -> bool:
        """Give the warning its place; False when it was shown there before and the filters show it once a place."""
        frame = outside(sys._getframe(1))
        if frame is None:
            return True
        # Where the filters say once a line, CPython has just noted our line: it stands for all of the program's.
        module = sys.modules.get(f"{__package__}.{Path(message.filename).stem}")
        ours = getattr(module, "__warningregistry__", {})
        once = ours.pop((str(message.message), message.category, message.lineno), None)
        message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno
        place = (str(message.message), message.category, message.filename, message.lineno)
        if once and place in self._shown:
            return False
        self._shown.add(place)
        return True
