"""The widget: a report in the notebook, with a selection that Python shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets
from ipywidgets import widget_serialization

from autograd_inspector.analysis.ranks_data import ReportOfRank
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.kernel.cell_ids import cell_ids
from autograd_inspector.kernel.page_code import PageCode, page_code
from autograd_inspector.kernel.shell import shell_in_kernel
from autograd_inspector.model.graph import GraphNode
from autograd_inspector.views.assets import WidgetNotBuiltError, asset, digest
from autograd_inspector.views.encoding import encoded
from autograd_inspector.views.exports import writer_of
from autograd_inspector.views.notebook.bundle import bundle_of, chosen

__all__ = ["ReportWidget", "WidgetNotBuiltError"]

VIEW = "application/vnd.jupyter.widget-view+json"


class ReportWidget(anywidget.AnyWidget):
    """Shows a report; ``selected`` holds the ids of the selected nodes of ``report.graph`` and can be set."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    module = traitlets.Unicode().tag(sync=True)
    module_id = traitlets.Unicode().tag(sync=True)
    code = traitlets.Instance(PageCode, allow_none=True).tag(sync=True, **widget_serialization)
    """Has module and style instead, in a kernel: there, every manager of widgets finds the model by its id."""
    payload = traitlets.Unicode().tag(sync=True)
    buffer = traitlets.Bytes().tag(sync=True)
    other_payload = traitlets.Unicode().tag(sync=True)
    other_buffer = traitlets.Bytes().tag(sync=True)
    other_name = traitlets.Unicode().tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)
    cells = traitlets.Dict().tag(sync=True)
    """"In [3]" -> the notebook's id of that cell: how the front end finds a line."""

    def __init__(self, report: ReportData, *, compare: ReportData | None = None, name: str = "") -> None:
        self.report = report
        self._listed = report
        self.in_sight = True
        """False from when the front end took its last view away until it shows another."""
        self.close_unseen = False
        """Nobody keeps the report but this widget: it is closed with its last view."""
        payload, buffer = encoded(report)
        traits: dict[str, Any] = {"payload": payload, "buffer": buffer, "cells": cell_ids(report.capture)}
        if compare is not None:
            other, other_buffer = encoded(compare)
            traits |= {"other_payload": other, "other_buffer": other_buffer, "other_name": name or "the other"}
        super().__init__(_esm=asset("loader.js"), **_code(), **traits)
        self.on_msg(self._asked)

    @traitlets.validate("selected")
    def _of_the_graph(self, proposal: Any) -> list[int]:
        """Ids that are none of the graph's are left out."""
        return [number for number in dict.fromkeys(proposal["value"]) if 0 <= number < len(self.report.graph.nodes)]

    @property
    def selected_nodes(self) -> tuple[GraphNode, ...]:
        """The selected nodes themselves."""
        return tuple(self.report.graph.nodes[number] for number in self.selected)

    def select(self, *what: int | str) -> tuple[GraphNode, ...]:
        """Select nodes by id or by name: a parameter, a module, an op, or a rule code such as "AG201".

        Returns the nodes. Raises ValueError (one line) for an unknown name. Without arguments, clears the selection.
        """
        node_ids: list[int] = []
        for one in what:
            named = [one] if isinstance(one, int) else self._named(one)
            if not named:
                raise ValueError(f"no node, module or finding is named {one!r}")
            node_ids += named
        self.selected = node_ids
        return self.selected_nodes

    def on_select(self, callback: Callable[[tuple[GraphNode, ...]], object]) -> Callable[[], None]:
        """Call ``callback`` with the selected nodes whenever they change; returns a function that ends this."""

        def changed(_change: Any) -> None:
            callback(self.selected_nodes)

        self.observe(changed, names="selected")
        return lambda: self.unobserve(changed, names="selected")

    def _named(self, name: str) -> list[int]:
        graph, capture = self.report.graph, self.report.capture
        ops = {op for finding in self.report.findings if name in {finding.rule, finding.name} for op in finding.ops}
        if ops:
            return [node for op, node in graph.by_op.items() if op in ops]
        exact = [
            n.id for n in graph.nodes if n.leaf and n.tensor >= 0 and name in (n.name, *capture.tensors[n.tensor].names)
        ]
        within = f"{name}."
        return exact or [n.id for n in graph.nodes if name in {n.path, n.name} or n.path.startswith(within)]

    def close(self) -> None:
        """The layout, too: it is a widget of its own, and ipywidgets would keep it for ever."""
        if self._listed.__dict__.get("_widget") is self:
            del self._listed.__dict__["_widget"]
        layout = self.layout
        super().close()
        if layout is not None:
            layout.close()

    def _asked(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """The front end says whether it shows the widget, or wants another form of the report, or another rank's."""
        command = content.get("command") if isinstance(content, dict) else None
        if command == "shown":
            self.in_sight = bool(content.get("on"))
            if self.close_unseen and not self.in_sight:
                self.close()
        elif command == "export":
            self._export(content)
        elif command == "rank":
            self.show_rank(content.get("rank"))

    def show_rank(self, rank: object) -> None:
        """Show the capture of another of the ranks that were merged; nothing where there is none."""
        others = self.report.others if isinstance(self.report, ReportOfRank) else {}
        if not isinstance(rank, int) or rank not in others:
            return
        self.report = others[rank]
        payload, buffer = encoded(self.report)
        with self.hold_sync():
            self.selected = []
            self.cells = cell_ids(self.report.capture)
            self.buffer = buffer
            self.payload = payload

    def _export(self, content: dict[str, Any]) -> None:
        try:
            self.send({"id": content.get("id"), "text": writer_of(content.get("format"))(self.report)})
        except Exception as error:  # noqa: BLE001 - the front end shows it; a traceback would go nowhere
            self.send({"id": content.get("id"), "error": str(error).partition("\n")[0]})

    def _repr_mimebundle_(self, **asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = {VIEW: self.view, **bundle_of(self.report)}
        return chosen(bundle, asked.get("include"), asked.get("exclude")), {}

    @property
    def view(self) -> dict[str, Any]:
        """What a notebook needs to find this widget."""
        return {"version_major": 2, "version_minor": 0, "model_id": self.model_id}


def _code() -> dict[str, Any]:
    module, style, name = asset("widget.js"), asset("style.css"), digest("widget.js")
    if shell_in_kernel() is None:
        return {"module": module, "_css": style, "module_id": name}
    return {"code": page_code(module, style), "module_id": name}


def widget_of(report: ReportData) -> ReportWidget:
    """The widget of a report, the same wherever it is shown; raises WidgetNotBuiltError."""
    widget: ReportWidget | None = report.__dict__.get("_widget")
    if widget is None or widget.comm is None:
        widget = report.__dict__["_widget"] = ReportWidget(report)
    widget.close_unseen = False
    return widget
