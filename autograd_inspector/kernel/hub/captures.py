"""The reports of this kernel, newest last: named, pinned, thrown away."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.kernel.hub.entries import entry_of
from autograd_inspector.kernel.hub.messages import Entry

KEEP = 50
"""So many captures are kept by default, the pinned ones beside them."""


class UnknownCaptureError(LookupError):
    """A capture that was deleted, or was this kernel's before a restart."""

    def __init__(self) -> None:
        super().__init__("this capture is gone: the kernel no longer has it")


class Captures:
    """Thread-safe: a subshell may ask while a cell adds.

    ``changed`` is told each entry that is new or different, ``removed`` the ids that are gone, and which of their
    reports nobody can be looking at any more.
    """

    def __init__(
        self, changed: Callable[[Entry], None], removed: Callable[[tuple[str, ...], tuple[ReportData, ...]], None]
    ) -> None:
        self.lock = threading.RLock()
        self.keep = KEEP
        self._changed = changed
        self._removed = removed
        self._reports: dict[str, ReportData] = {}
        self._entries: dict[str, Entry] = {}

    def add(self, report: ReportData) -> str:
        """Returns the id of a report, which it keeps when it is shown again."""
        with self.lock:
            earlier_id = next((identity for identity, one in self._reports.items() if one is report), None)
            if earlier_id is not None:
                return earlier_id
            identity = uuid.uuid4().hex
            self._reports[identity] = report
            self._entries[identity] = entry_of(report, identity, time.time())
            self._changed(self._entries[identity])
            self._forget_old()
            return identity

    def entries(self) -> tuple[Entry, ...]:
        """Newest first."""
        with self.lock:
            return tuple(reversed(self._entries.values()))

    def report(self, identity: str) -> ReportData:
        """Raises UnknownCaptureError."""
        with self.lock:
            if identity not in self._reports:
                raise UnknownCaptureError
            return self._reports[identity]

    def name_of(self, identity: str) -> str:
        """What the user calls it, else its cell."""
        self.report(identity)
        entry = self._entries[identity]
        return entry.name or entry.cell or "a capture"

    def rename(self, identity: str, name: str) -> None:
        """An empty name: that of its cell again."""
        self._replace(identity, name=name.strip()[:200])

    def pin(self, identity: str, *, on: bool) -> None:
        """A pinned capture is kept, however many come after it."""
        self._replace(identity, pinned=on)
        self._forget_old()

    def delete(self, identities: tuple[str, ...]) -> None:
        """Those that are gone already do not count."""
        self._drop(identities, unseen=identities)

    def clear(self) -> None:
        """All but the pinned ones."""
        with self.lock:
            self.delete(tuple(entry.id for entry in self._entries.values() if not entry.pinned))

    def limit(self, keep: int) -> None:
        """Keep at most so many, the pinned ones beside them."""
        with self.lock:
            self.keep = max(1, keep)
            self._forget_old()

    def _replace(self, identity: str, **facts: Any) -> None:
        with self.lock:
            self.report(identity)
            self._entries[identity] = replace(self._entries[identity], **facts)
            self._changed(self._entries[identity])

    def _forget_old(self) -> None:
        """First those whose cell ran again since. The others may still stand under their cells: these stay there."""
        with self.lock:
            latest = {entry.cell_id or entry.id: entry.id for entry in self._entries.values()}
            loose = [entry for entry in self._entries.values() if not entry.pinned]
            replaced = [entry.id for entry in loose if latest[entry.cell_id or entry.id] != entry.id]
            others = [entry.id for entry in loose if entry.id not in set(replaced)]
            self._drop(tuple([*replaced, *others][: max(0, len(loose) - self.keep)]), unseen=tuple(replaced))

    def _drop(self, identities: tuple[str, ...], *, unseen: tuple[str, ...]) -> None:
        with self.lock:
            gone = {identity: self._reports.pop(identity) for identity in identities if identity in self._reports}
            for identity in gone:
                del self._entries[identity]
            if gone:
                self._removed(tuple(gone), tuple(report for identity, report in gone.items() if identity in unseen))
