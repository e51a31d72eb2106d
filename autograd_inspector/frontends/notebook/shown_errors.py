"""The traceback that IPython shows of an inspected cell: the program's own frames, below the report.

IPython shows it before it tells anybody that the cell has ended, so the frames are taken out, and the report is made,
when it is about to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from autograd_inspector.capture.lines.tracebacks import without_own_frames

_SHOW = "showtraceback"


class ShownErrors:
    """Shadows ``shell.showtraceback`` from ``begin()`` to ``end()``."""

    def __init__(self, shell: InteractiveShell, on_error: Callable[[BaseException], None] | None = None) -> None:
        """``on_error`` is called with what ended a code that IPython ran, before that is shown."""
        self._on_error = on_error
        self._attributes: dict[str, Any] = vars(shell)
        self._shell = shell
        self._before: Any = None
        self._shadow: Any = None

    def begin(self) -> None:
        """From now on."""
        show = self._shell.showtraceback
        self._before = self._attributes.get(_SHOW)

        def shadow(*args: Any, **kwargs: Any) -> Any:
            error = sys.exc_info()[1]
            without_own_frames(error)
            if error is not None and self._on_error is not None and kwargs.get("running_compiled_code"):
                self._on_error(error)
            return show(*args, **kwargs)

        self._shadow = self._attributes[_SHOW] = shadow

    def end(self) -> None:
        """As before; where the cell itself has put another function in its place, that one stays."""
        if self._shadow is None or self._attributes.get(_SHOW) is not self._shadow:
            return
        del self._attributes[_SHOW]
        if self._before is not None:
            self._attributes[_SHOW] = self._before
        self._before = self._shadow = None
