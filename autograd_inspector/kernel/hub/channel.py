"""The comm on which the kernel tells every front end what changed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import comm
import msgspec
from msgspec import Struct

from autograd_inspector.kernel.hub.messages import HUB

_log = logging.getLogger(__name__)


class Channel:
    """Opened by the kernel; reopened with the next message when a front end that knows nothing of it closed it.

    A front end that comes later finds it through ``requestCommInfo``. ``greeting`` is what a new one is told.
    """

    def __init__(self, greeting: Callable[[], Struct]) -> None:
        self._greeting = greeting
        self._comm: Any = None

    def open(self) -> None:
        """Nothing where it is open already."""
        if self._comm is not None:
            return
        made = comm.create_comm(target_name=HUB, data=msgspec.to_builtins(self._greeting()))
        made.on_close(self._closed)
        self._comm = made

    def tell(self, message: Struct) -> None:
        """Send to every front end; one that can't be reached costs the program nothing."""
        try:
            if self._comm is None:
                self.open()
            else:
                self._comm.send(msgspec.to_builtins(message))
        except Exception:  # noqa: BLE001 - the user's cell goes on whatever becomes of a message
            _log.debug("autograd_inspector: no message to the panel", exc_info=True)
            self._comm = None

    def close(self) -> None:
        """Tell every front end that the hub is gone."""
        made, self._comm = self._comm, None
        if made is not None:
            made.close()

    def _closed(self, _message: Any) -> None:
        self._comm = None
