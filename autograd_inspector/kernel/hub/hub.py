"""The hub of this kernel: captures, settings, and who is told of them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from msgspec import Struct

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.kernel.cell_ids import asked_by_a_page
from autograd_inspector.kernel.hub import messages
from autograd_inspector.kernel.hub.captures import Captures
from autograd_inspector.kernel.hub.channel import Channel
from autograd_inspector.kernel.shell import shell_in_kernel
from autograd_inspector.views.wire import WIRE


class Hub:
    """One a kernel. ``watch`` is what inspects cells, None while the IPython extension is not loaded."""

    def __init__(self) -> None:
        self.captures = Captures(self)
        self.channel = Channel(self.listing, _has_page)
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

    def changed(self, entry: messages.Entry) -> None:
        """Tell every front end of a capture that is new, or is now said otherwise."""
        self._tell(messages.Changed, type="changed", entry=entry)

    def removed(self, ids: tuple[str, ...]) -> None:
        """Tell every front end that captures are listed no more."""
        self._tell(messages.Removed, type="removed", ids=ids)

    def let_go(self, identity: str, report: ReportData, *, at_once: bool) -> None:
        """Close what holds a report: its widget, at once or when its last view is gone, and the comparisons with it."""
        widget = report.__dict__.get("_widget")
        if widget is not None and (at_once or not widget.in_sight):
            widget.close()
        elif widget is not None:
            widget.close_unseen = True
        for pair in [pair for pair in self.comparisons if identity in pair]:
            self.comparisons.pop(pair).close()

    def in_sight(self, report: ReportData) -> bool:
        """Whether its widget is shown somewhere, as far as front ends have said."""
        widget = report.__dict__.get("_widget")
        return widget is not None and widget.in_sight

    def _tell(self, kind: type[Struct], **facts: Any) -> None:
        with self.captures.lock:
            self._revision += 1
            self.channel.tell(kind(protocol=messages.PROTOCOL, revision=self._revision, **facts))


def _has_page() -> bool:
    shell = shell_in_kernel()
    return shell is not None and asked_by_a_page(shell)


def _version() -> str:
    try:
        return version("autograd_inspector")
    except PackageNotFoundError:
        return "unknown"
