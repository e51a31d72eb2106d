"""The kernel in which ``%%px`` runs: the reports of all engines are shown as one, below the cell."""

from __future__ import annotations

import sys
import zlib
from typing import Any

from autograd_inspector.api.merging import merge_reports
from autograd_inspector.api.report import Report
from autograd_inspector.frontends.notebook.outcome import say
from autograd_inspector.kernel.display import display_apart
from autograd_inspector.kernel.engines import PART, engine_id, read_part


class EngineReports:
    """Takes the reports out of what the engines display, and shows them when the cell has ended.

    ipyparallel publishes what engines display from a thread of its own, which the publisher's hooks do not reach: they
    are the thread's that registered them. So the publisher's ``publish`` is shadowed, from the first cell that finds
    ipyparallel imported until :meth:`close`.
    """

    def __init__(self, shell: Any) -> None:
        self._publisher = shell.display_pub
        self._publish = self._publisher.publish
        self._kept: dict[int, Report] = {}
        self._problem = ""

    def before(self, _info: Any = None) -> None:
        """A cell begins: other programs than those with engines keep their publisher as it is."""
        if "ipyparallel" in sys.modules and engine_id() < 0:
            self._publisher.publish = self.published

    def close(self) -> None:
        """Engines' outputs are shown one by one again."""
        if vars(self._publisher).get("publish") == self.published:
            del self._publisher.publish

    def published(self, data: Any, *args: Any, **options: Any) -> Any:
        """Publish as before, but for the reports of engines: these are kept for the end of the cell."""
        if not isinstance(data, dict) or PART not in data or not self._taken(data[PART]):
            return self._publish(data, *args, **options)
        return None

    def _taken(self, part: Any) -> bool:
        try:
            engine, text = read_part(part)
            self._kept[engine] = Report.from_json(text)
        except (ValueError, zlib.error) as error:
            self._problem = str(error).partition("\n")[0]
            return False
        return True

    def flush(self, _result: Any = None) -> None:
        """Show what came, as one: of an engine with two reports the last."""
        kept, problem = dict(sorted(self._kept.items())), self._problem
        self._kept, self._problem = {}, ""
        if problem:
            say(f"cannot read the report of an engine: {problem}")
        if not kept:
            return
        try:
            merged = merge_reports(list(kept.values()))
        except ValueError:  # Several groups of ranks: the engines are told apart by their own numbers.
            merged = merge_reports(kept)
        display_apart(merged._repr_mimebundle_())
