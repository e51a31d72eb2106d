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
    """Made by the kernel; made again with the next message when a front end that knows nothing of it closed it.

    A front end that comes later finds it through ``requestCommInfo``. Those that are there are told of it with the
    ``greeting``, as soon as one of them asks for a cell: what runs notebooks without a page would only warn of it.
    """

    def __init__(self, greeting: Callable[[], Struct], has_page: Callable[[], bool]) -> None:
        self._greeting = greeting
        self._has_page = has_page
        self._comm: Any = None
        self._announced = False

    def open(self) -> None:
        """Nothing where it is open already, and all that may be told of it is."""
        if self._comm is None:
            self._announced = False
            self._comm = comm.create_comm(target_name=HUB, primary=False)
            self._comm.on_close(self._closed)
            comm.get_comm_manager().register_comm(self._comm)
        if not self._announced and self._has_page():
            self._announced = True
            self._comm.open(data=msgspec.to_builtins(self._greeting()))

    def tell(self, message: Struct) -> None:
        """Send to every front end; one that can't be reached costs the program nothing."""
        try:
            told = self._announced
            self.open()
            if told or not self._announced:  # What announces it tells everything.
                self._comm.send(msgspec.to_builtins(message))
        except Exception:  # noqa: BLE001 - the user's cell goes on whatever becomes of a message
            _log.debug("autograd_inspector: no message to the panel", exc_info=True)
            self._comm, self._announced = None, False

    def close(self) -> None:
        """Tell every front end that the hub is gone."""
        made, self._comm = self._comm, None
        self._announced = False
        if made is not None:
            made.close()

    def _closed(self, _message: Any) -> None:
        self._comm, self._announced = None, False
