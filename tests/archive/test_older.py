"""Reports that an earlier version of this package wrote are read as if this one had written them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from autograd_inspector import Report
from autograd_inspector.api.report import SCHEMA, ReportFormatError
from autograd_inspector.model.program_events import (
    LoadRefused,
    ParameterRegistered,
    ParametersConverted,
    StateAssigned,
    StateCast,
    StateLoaded,
    StateSwapped,
)
from autograd_inspector.model.sound import fault_in
from autograd_inspector.views.html import report as page
from autograd_inspector.views.picture.render import GraphvizMissingError
from tests.placement.told import Told, numbers

from .mutations import Damage
from .shown import read, shown_everywhere

HERE = Path(__file__).parent
VERSION_1 = (HERE / "schema_1.json").read_text("utf-8")
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


@pytest.mark.parametrize("name", ["schema_2_not_finite.json", "schema_2_raised.json"])
def test_version_2_had_all_its_records_in_rows(name, undrawn):
    """Infinities and NaN in it, too: it can be shown, written in the present version and read again."""
    text = (HERE / name).read_text("utf-8")
    report = Report.from_json(text)
    data = json.loads(text)
    assert data["schema"] == 2
    assert report.schema == SCHEMA
    assert [op.name for op in report.capture.ops] == [op["name"] for op in data["capture"]["ops"]]
    written = json.loads(report.to_json())
    assert written["capture"] == data["capture"]
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


SHOWN = json.loads((HERE / "schema_1_shown.json").read_text("utf-8"))
"""What version 1 itself made of the reports beside it."""


def older(name):
    """A report of version 1, read."""
    return Report.from_json((HERE / f"schema_1_{name}.json").read_text("utf-8"))


def history(report):
    """What its text says of parameters and state."""
    lines = report.to_text(width=200).splitlines()
    (heading,) = [at for at, line in enumerate(lines) if line.startswith("what happened")]
    return lines[heading + 1 :]


@pytest.mark.parametrize("name", SHOWN)
def test_the_graph_is_the_one_that_version_1_drew(name):
    """As many nodes and edges, and the same findings; also where the walk of the graph was cut off."""
    report, shown = older(name), SHOWN[name]
    assert (len(report.graph.nodes), len(report.graph.edges)) == (shown["nodes"], shown["edges"])
    assert [finding.rule for finding in report.findings] == shown["findings"]
    assert fault_in(report.capture) == ""


def facts(line):
    """Place, call, numbers, names and dtypes of a line, and what it says was done with them."""
    done = [word for word in ("added", "refused", "replaced", "cast", "behind") if word in line]
    return sorted(re.findall(r"\w*[\d._(](?:[\w.()]*[\w)])?", line)), done


def test_loads_and_conversions_are_told_as_before():
    """Each kind of event has become a record of its own: what is told of it stays what it was."""
    assert facts("b.py:3  A.to()  cast 2 of x.a: float32") == (["2", "3", "A.to()", "b.py", "float32", "x.a"], ["cast"])
    assert [*map(facts, history(older("events")))] == [*map(facts, SHOWN["events"]["history"])]


def test_events_have_their_facts():
    """What version 1 wrote as text: sizes of groups, casts, pairs, keys."""
    capture = older("events").capture
    (refused,) = capture.events_of(LoadRefused)
    assert (refused.saved_groups, refused.own_groups) == ((4,), (2,))
    assert "match the size" in refused.error
    assert set(refused.saved_state) == {"step", "exp_avg", "exp_avg_sq"}
    assert StateCast("exp_avg", "float32", "bfloat16") in capture.events_of(StateLoaded)[1].casts
    assert len(capture.events_of(StateSwapped)[0].pairs) == 4
    assert [line.keys for line in capture.events_of(StateAssigned)] == [("exp_avg",)]
    registered = [event.api for event in capture.events_of(ParameterRegistered)]
    assert registered == ["Linear.weight", "Linear.bias", "Linear.weight", "Linear.bias"]
    assert [event.api for event in capture.events_of(ParametersConverted)] == ["Linear.to()", "Sequential.double()"]


def test_steps_know_the_groups_again():
    """Frozen, at lr 0, or fused: version 1 told these from what the report still has."""
    new = history(older("steps"))
    rows = [Told.of(line[line.index("wrote ") :]) for line in new]
    assert [row.counts for row in rows] == [[3, 8], [2, 8]]
    rested = (["0.weight"], ["0.weight", "2.bias"])
    for row, frozen, before in zip(rows, rested, SHOWN["steps"]["history"], strict=True):
        (unseen,) = [part for part in row.parts if "no version counter" in part]
        assert numbers(unseen) == [2]
        assert "frozen" in row.about(*frozen)
        assert "lr 0" in row.about("1.weight", "1.bias")
        moved, held_still, resting = re.search(r"moved (\d) of 8 .*; not (.*): frozen; not (.*):", before).groups()
        assert (held_still, resting) == (", ".join(frozen), "1.weight, 1.bias")
        assert int(moved) == row.counts[0] + 2


def test_a_graph_that_was_cut_off_says_so():
    """Of what lies below the ends of such a walk version 1 kept nothing."""
    capture = older("deep").capture
    (run,) = capture.backwards
    assert run.graph.truncated
    assert run.graph.blind
    ends = [node for node in capture.nodes if node.blind]
    assert ends
    assert all(not node.edges and node.variable < 0 for node in ends)
    weight = next(tensor.id for tensor in capture.tensors if tensor.id not in run.reached)
    assert capture.unsettled([weight]) == {weight}
    assert not any(run.graph.blind for run in older("steps").capture.backwards)


def test_settings_are_values_again():
    """Version 1 wrote them as text."""
    first, second, *_, fused = older("steps").placement.optimizers[0].groups
    assert (first["lr"], second["lr"], first["nesterov"], first["foreach"]) == (0.1, 0.0, False, None)
    assert fused["fused"] is True
    assert older("events").placement.optimizers[0].groups[0]["betas"] == (0.9, 0.999)
