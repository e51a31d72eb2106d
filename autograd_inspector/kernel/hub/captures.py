"""The reports of this kernel, newest last: named, pinned, thrown away."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any, Protocol

from msgspec.structs import replace

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.kernel.hub.entries import entry_of
from autograd_inspector.kernel.hub.messages import Entry
from autograd_inspector.kernel.hub.sizes import held_bytes

KEEP = 50
"""So many captures are kept by default, the pinned ones beside them."""

KEEP_BYTES = 512 * 2**20
"""So many bytes the captures may take that are kept: some 200 steps of GPT-2, or three of 50,000 nodes."""


class UnknownCaptureError(LookupError):
    """A capture that was deleted, or was this kernel's before a restart."""

    def __init__(self) -> None:
        super().__init__("this capture is gone: the kernel no longer has it")


class ReleasedCaptureError(LookupError):
    """A capture that is still listed, but took more memory than may be kept."""

    def __init__(self) -> None:
        super().__init__(
            f"this capture was released: the kernel keeps {KEEP_BYTES // 2**20} MB of captures. Run its cell again, "
            "and pin the captures to keep"
        )


class Listener(Protocol):
    """Who is told of changes."""

    def changed(self, entry: Entry) -> None:
        """An entry is new or different."""

    def removed(self, ids: tuple[str, ...]) -> None:
        """These are listed no more."""

    def let_go(self, identity: str, report: ReportData, *, at_once: bool) -> None:
        """The report is kept no more; ``at_once``: nobody can be looking at it."""

    def in_sight(self, report: ReportData) -> bool:
        """Whether a front end shows it."""


class Captures:
    """Thread-safe: a subshell may ask while a cell adds."""

    def __init__(self, listener: Listener) -> None:
        self.lock = threading.RLock()
        self.keep = KEEP
        self.keep_bytes = KEEP_BYTES
        self._listener = listener
        self._reports: dict[str, ReportData] = {}
        self._bytes: dict[str, int] = {}
        self._entries: dict[str, Entry] = {}

    def add(self, report: ReportData) -> str:
        """Returns the id of a report, which it keeps when it is shown again."""
        with self.lock:
            earlier_id = next((identity for identity, one in self._reports.items() if one is report), None)
            if earlier_id is not None:
                return earlier_id
            identity = uuid.uuid4().hex
            self._reports[identity] = report
            self._bytes[identity] = held_bytes(report)
            self._entries[identity] = entry_of(report, identity, time.time())
            self._listener.changed(self._entries[identity])
            self._forget_old()
            return identity

    def entries(self) -> tuple[Entry, ...]:
        """Newest first."""
        with self.lock:
            return tuple(reversed(self._entries.values()))

    def reports(self) -> tuple[ReportData, ...]:
        """Those that are kept, oldest first."""
        with self.lock:
            return tuple(self._reports.values())

    def report(self, identity: str) -> ReportData:
        """Raises UnknownCaptureError or ReleasedCaptureError, each in one line."""
        with self.lock:
            if identity in self._reports:
                return self._reports[identity]
            self._entry(identity)
            raise ReleasedCaptureError

    def name_of(self, identity: str) -> str:
        """What the user calls it, else its cell."""
        entry = self._entry(identity)
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
        self._drop(identities, at_once=identities)

    def clear(self) -> None:
        """All but the pinned ones."""
        with self.lock:
            self.delete(tuple(entry.id for entry in self._entries.values() if not entry.pinned))

    def limit(self, keep: int) -> None:
        """Keep at most so many, the pinned ones beside them."""
        with self.lock:
            self.keep = max(1, keep)
            self._forget_old()

    def _entry(self, identity: str) -> Entry:
        if identity not in self._entries:
            raise UnknownCaptureError
        return self._entries[identity]

    def _replace(self, identity: str, **facts: Any) -> None:
        with self.lock:
            self._entries[identity] = replace(self._entry(identity), **facts)
            self._listener.changed(self._entries[identity])

    def _forget_old(self) -> None:
        """Too many are no longer listed; of those that are, too large ones are released.

        First those whose cell ran again since. The others may still stand under their cells: these stay there.
        """
        with self.lock:
            latest = {entry.cell_id or entry.id: entry.id for entry in self._entries.values()}
            loose = [entry for entry in self._entries.values() if not entry.pinned]
            replaced = [entry.id for entry in loose if latest[entry.cell_id or entry.id] != entry.id]
            others = [entry.id for entry in loose if entry.id not in set(replaced)]
            # Sorting is stable: of equals the oldest comes first.
            order = [*replaced, *sorted(others, key=self._in_sight)]
            many = max(0, len(loose) - self.keep)
            self._drop(tuple(order[:many]), at_once=tuple(replaced))
            self._release(order[many:], at_once=replaced)

    def _in_sight(self, identity: str) -> bool:
        report = self._reports.get(identity)
        return report is not None and self._listener.in_sight(report)

    def _release(self, order: list[str], *, at_once: list[str]) -> None:
        """Let go what takes too many bytes, but never the newest: it was made to be looked at."""
        newest = next(reversed(self._entries), "")
        kept = sum(self._bytes.get(identity, 0) for identity in order)
        for identity in order:
            if kept <= self.keep_bytes:
                return
            if identity == newest or identity not in self._reports:
                continue
            kept -= self._bytes[identity]
            self._let_go(identity, at_once=identity in at_once)
            self._replace(identity, released=True)

    def _drop(self, identities: tuple[str, ...], *, at_once: tuple[str, ...]) -> None:
        with self.lock:
            gone = tuple(identity for identity in identities if identity in self._entries)
            for identity in gone:
                del self._entries[identity]
                self._let_go(identity, at_once=identity in at_once)
            if gone:
                self._listener.removed(gone)

    def _let_go(self, identity: str, *, at_once: bool) -> None:
        report = self._reports.pop(identity, None)
        self._bytes.pop(identity, None)
        if report is not None:
            self._listener.let_go(identity, report, at_once=at_once)
