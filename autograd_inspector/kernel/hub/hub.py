"""The hub of this kernel: captures, settings, and who is told of them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from msgspec import Struct

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.kernel.hub import messages
from autograd_inspector.kernel.hub.captures import Captures
from autograd_inspector.kernel.hub.channel import Channel
from autograd_inspector.views.wire import WIRE


class Hub:
    """One a kernel. ``watch`` is what inspects cells, None while the IPython extension is not loaded."""

    def __init__(self) -> None:
        self.captures = Captures(self._changed, self._removed)
        self.channel = Channel(self.listing)
        self.watch: Any = None
        self.values = False
        self.comparisons: dict[tuple[str, str], Any] = {}
        """The widgets that show two captures, until one of them is gone."""
        self._revision = 0

    @property
    def every(self) -> bool:
        """Whether each cell is inspected."""
        return self.watch is not None and self.watch.every is not None

    def listing(self) -> messages.Listing:
        """Everything that a front end needs to begin with."""
        with self.captures.lock:
            return messages.Listing(
                type="list",
                protocol=messages.PROTOCOL,
                wire=WIRE,
                version=_version(),
                revision=self._revision,
                captures=self.captures.entries(),
                every=self.every,
                keep=self.captures.keep,
                values=self.values,
            )

    def tell_settings(self) -> None:
        """Tell every front end how cells are inspected now."""
        facts = {"every": self.every, "keep": self.captures.keep, "values": self.values}
        self._tell(messages.Settings, type="settings", **facts)

    def _changed(self, entry: messages.Entry) -> None:
        self._tell(messages.Changed, type="changed", entry=entry)

    def _removed(self, ids: tuple[str, ...], unseen: tuple[ReportData, ...]) -> None:
        for report in unseen:
            widget = report.__dict__.pop("_widget", None)
            if widget is not None:
                widget.close()
        for pair in [pair for pair in self.comparisons if not set(pair).isdisjoint(ids)]:
            self.comparisons.pop(pair).close()
        self._tell(messages.Removed, type="removed", ids=ids)

    def _tell(self, kind: type[Struct], **facts: Any) -> None:
        with self.captures.lock:
            self._revision += 1
            self.channel.tell(kind(protocol=messages.PROTOCOL, revision=self._revision, **facts))


def _version() -> str:
    try:
        return version("autograd_inspector")
    except PackageNotFoundError:
        return "unknown"
