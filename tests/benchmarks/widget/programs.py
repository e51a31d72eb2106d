"""What the notebook's cells call: captures of language models, shown as a cell shows them."""

from __future__ import annotations

import json
import time

import anywidget
import traitlets
from IPython.display import display
from msgspec.structs import replace
from torch import Tensor, nn

import autograd_inspector
from autograd_inspector.api.report import Report
from autograd_inspector.views.encoding import encoded
from tests.benchmarks.workloads import Subject, language_model, training_step

SIZES = {"GPT-2 small": (12, 1), "3,000 nodes": (60, 1), "50,000 nodes": (60, 17)}
"""Layers of GPT-2, and how often it is called for one loss."""


class Again(nn.Module):
    """A model called several times, its losses added."""

    def __init__(self, model: nn.Module, times: int) -> None:
        super().__init__()
        self.model = model
        self.times = times

    def forward(self, tokens: Tensor) -> Tensor:
        return sum(self.model(tokens) for _ in range(self.times))


def program(layers: int, times: int) -> Subject:
    """GPT-2 with narrow tensors: the graph is the same, and captured sooner."""
    subject = language_model(layers)
    return subject if times == 1 else subject._replace(module=Again(subject.module, times))


def captured(layers: int, times: int) -> Report:
    """The report of a training step; prints how large it is."""
    step = training_step(program(layers, times))
    with autograd_inspector.inspect() as inspection:
        step()
    report = inspection.report
    text, buffer = encoded(report)
    sizes = {"nodes": len(report.graph.nodes), "edges": len(report.graph.edges), "bytes": len(text) + len(buffer)}
    print(json.dumps(sizes))
    return report


def shown(report: Report) -> None:
    """Display a report that nobody has looked at; prints when (ms) that began and ended."""
    _displayed(replace(report))


class Empty(anywidget.AnyWidget):
    """The least that a widget can be: what any costs in this notebook."""

    _esm = """export default { render({ el }) {
        el.textContent = "widget";
        requestAnimationFrame(() => { el.dataset.state = "ready"; });
    } }"""
    value = traitlets.Int(0).tag(sync=True)


def floor() -> None:
    """Display the empty widget."""
    _displayed(Empty())


def _displayed(thing: object) -> None:
    began = time.time()
    display(thing)
    print(json.dumps({"began": began * 1e3, "ended": time.time() * 1e3}))
