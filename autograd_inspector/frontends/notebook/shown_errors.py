"""The traceback that IPython shows of an inspected cell: the program's own frames.

IPython shows it before it tells anybody that the cell has ended, so the frames are taken out when it is about to.
"""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from autograd_inspector.capture.lines.tracebacks import without_own_frames

_SHOW = "showtraceback"


class ShownErrors:
    """Shadows ``shell.showtraceback`` from ``begin()`` to ``end()``."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._attributes: dict[str, Any] = vars(shell)
        self._shell = shell
        self._before: Any = None
        self._shadow: Any = None

    def begin(self) -> None:
        """From now on."""
        show = self._shell.showtraceback
        self._before = self._attributes.get(_SHOW)

        def shadow(*args: Any, **kwargs: Any) -> Any:
            without_own_frames(sys.exc_info()[1])
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
