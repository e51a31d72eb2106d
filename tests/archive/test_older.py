"""Reports that an earlier version of this package wrote are read as if this one had written them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograd_inspector import Report
from autograd_inspector.api.report import SCHEMA, ReportFormatError
from autograd_inspector.model.sound import fault_in
from autograd_inspector.views.html import report as page
from autograd_inspector.views.picture.render import GraphvizMissingError

from .mutations import Damage
from .shown import read, shown_everywhere

VERSION_1 = Path(__file__).with_name("schema_1.json").read_text("utf-8")
"""Three runs of the engine, two of them through one graph; read values; an exception."""


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without their picture: a process for each of them takes long."""

    def missing(graph):
        raise GraphvizMissingError

    monkeypatch.setattr(page, "svg_of", missing)


def test_each_run_keeps_the_graph_that_it_had():
    """In version 1 a run's graph was its own: names, edges and saved tensors of it stay what they were."""
    data = json.loads(VERSION_1)
    capture = Report.from_json(VERSION_1).capture
    for run, old in zip(capture.backwards, data["capture"]["backwards"], strict=True):
        graph, nodes = capture.graph_of(run), old["graph"]["nodes"]
        assert [node.name for node in graph.nodes] == [node["name"] for node in nodes]
        assert [[list(edge) for edge in node.edges] for node in graph.nodes] == [node["edges"] for node in nodes]
        assert [len(node.saved) for node in graph.nodes] == [len(node.get("saved", ())) for node in nodes]
        assert list(graph.roots) == old["graph"]["roots"]


def test_what_pointed_at_a_node_of_a_run_still_does():
    """The node that made the first NaN of the backward pass."""
    capture = Report.from_json(VERSION_1).capture
    assert [capture.nodes[fault.node].name for fault in capture.gradient_faults] == ["SqrtBackward0"]


def test_it_is_a_report_like_any_other(undrawn):
    """It can be shown, written in the present version and read again."""
    report = Report.from_json(VERSION_1)
    assert fault_in(report.capture) == ""
    assert report.schema == SCHEMA
    assert json.loads(report.to_json())["schema"] == SCHEMA
    assert Report.from_json(report.to_json()) == report
    shown_everywhere(report)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("nodes", 0, "edges"), [[999, 0]], "graphs of its runs"),
        (("nodes", 0, "edges"), [[-1, 0]], "has no number"),
        (("nodes", 1, "index"), 0, "not numbered from 0"),
        (("roots",), [10**9], "graphs of its runs"),
        (("nodes",), "x", "graphs of its runs"),
    ],
)
def test_a_damaged_graph_is_refused(path, value, said):
    """Numbers that are none of the run's own nodes, and what is no graph at all."""
    data = json.loads(VERSION_1)
    *outer, last = path
    found = data["capture"]["backwards"][1]["graph"]
    for key in outer:
        found = found[key]
    found[last] = value
    with pytest.raises(ReportFormatError, match=said) as caught:
        Report.from_json(json.dumps(data))
    assert "\n" not in str(caught.value)


def test_damage_of_any_kind(undrawn):
    """Either it is refused in one line, or everything can show it."""
    outcomes = set()
    damage = Damage(VERSION_1)
    for seed in range(40):
        found = read(damage.one(seed))
        outcomes.add(found is None)
        if found is not None:
            shown_everywhere(found)
    assert outcomes == {True, False}
