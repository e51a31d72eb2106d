"""Long captures are written as tables, in which what is alike stands once, and are read as what they were."""

from __future__ import annotations

import json

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.api.report import ReportFormatError
from autograd_inspector.model.autograd import GraphHead, Node, SavedTensor
from autograd_inspector.model.op import Op, Write
from autograd_inspector.views.columnar import captures, tables
from autograd_inspector.views.columnar.numbers import BASES, numbers_of, runs_of, shortest, told, untold
from autograd_inspector.views.columnar.tables import Rows, Table, records_of, table_of
from autograd_inspector.views.html import report as page
from autograd_inspector.views.picture.render import GraphvizMissingError

from .mutations import Damage
from .reports import KINDS, report
from .shown import read, shown_everywhere

INTEGERS = st.integers(-2, 200) | st.integers(-(2**70), 2**70)
SMALL_TUPLES = st.lists(INTEGERS, max_size=4).map(tuple)
WRITES = st.builds(Write, INTEGERS, INTEGERS, INTEGERS, INTEGERS)
OPS = st.builds(
    Op,
    INTEGERS,
    st.text(max_size=3),
    SMALL_TUPLES,
    SMALL_TUPLES,
    SMALL_TUPLES,
    INTEGERS,
    writes=st.lists(WRITES, max_size=3).map(tuple),
    traits=INTEGERS,
)
SAVED = st.builds(
    SavedTensor,
    st.text(max_size=2),
    INTEGERS,
    SMALL_TUPLES,
    *[st.sampled_from(["cpu", "float32"])] * 2,
    *[INTEGERS] * 4,
    st.sampled_from(["valid", "freed"]),
    st.none() | INTEGERS,
)
NODES = st.builds(
    Node,
    INTEGERS,
    st.text(max_size=3),
    INTEGERS | st.just(2**64 - 1),
    st.lists(st.tuples(INTEGERS, INTEGERS), max_size=3).map(tuple),
    saved=st.lists(SAVED, max_size=3).map(tuple),
)


def through_json(records, kind):
    return records_of(msgspec.json.decode(msgspec.json.encode(table_of(Rows(records), kind)), type=Table), kind)


@settings(deadline=None, database=None)
@given(st.lists(INTEGERS), st.data())
def test_any_numbers(numbers, data):
    """Beside whatever they are told, near, far, negative and huge ones are what they were."""
    rows = data.draw(st.lists(st.integers(0, 300), min_size=len(numbers), max_size=len(numbers)))
    assert numbers_of(runs_of(numbers), len(numbers)) == numbers
    for base in BASES:
        assert list(untold(told(numbers, base, rows), base, rows)) == numbers
    assert shortest(numbers, rows) in BASES


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(OPS, max_size=12), st.lists(NODES, max_size=12))
def test_any_records(ops, nodes):
    """Tuples of any length in them, records in those, values that equal the default in some or in all."""
    assert through_json(ops, Op) == tuple(ops)
    assert through_json(nodes, Node) == tuple(nodes)
    heads = [GraphHead((node.index,), blind=node.index > 3) for node in nodes]
    assert through_json(heads, GraphHead) == tuple(heads)


@pytest.fixture
def all_as_tables(monkeypatch):
    """However short they are."""
    monkeypatch.setattr(captures, "LONG", 1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ranks"])
def test_reports_of_every_kind(kind, all_as_tables):
    """Each tuple of records that can be a table is one, and the report that is read is equal."""
    given = report(kind)
    data = json.loads(given.to_json())
    assert bool(data.get("tables")) == bool(given.capture.ops or given.capture.tensors)
    assert not data["capture"].keys() & data.get("tables", {}).keys()
    found = Report.from_json(given.to_json())
    assert found == given
    assert found.to_text() == given.to_text()


def training(steps):
    """Layers of several kinds, without an optimizer, so that nothing is folded."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 1))
    x = torch.ones(2, 4)
    with autograd_inspector.inspect() as inspection:
        for _ in range(steps):
            hidden = net[:3](x)
            (net[3:](hidden) + hidden.mean()).pow(2).sum().backward()
    return inspection.report


def test_an_op_of_a_long_capture_takes_few_bytes():
    """With its tensors, its nodes, what they saved, and the calls that it ran in."""
    given = training(300)
    text = given.to_json()
    assert len(given.capture.ops) > 2 * captures.LONG
    assert len(text) < 40 * len(given.capture.ops)
    assert Report.from_json(text) == given


def test_a_short_capture_is_written_record_by_record():
    """People and `jq` can read it."""
    data = json.loads(report("healthy").to_json())
    assert "tables" not in data
    assert data["capture"]["ops"][0]["name"]


def test_damage_of_any_kind(all_as_tables, monkeypatch):
    """Either it is refused in one line, or everything can show it."""

    def missing(graph):
        raise GraphvizMissingError

    monkeypatch.setattr(page, "svg_of", missing)
    monkeypatch.setattr(tables, "MOST", 20_000)
    damage, outcomes = Damage(report("exchanged").to_json()), set()
    for seed in range(80):
        found = read(damage.one(seed))
        outcomes.add(found is None)
        if found is not None:
            shown_everywhere(found)
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("ops", "count"), 3 * 10**8, "tables.ops: 300000000 records"),
        (("ops", "count"), -1, "tables.ops: -1 records"),
        (("ops", "count"), 7, "tables.ops: 7 records of "),
        (("ops", "which"), [[0, 3 * 10**9]], "tables.ops: a column does not have"),
        (("ops", "different"), 1, "tables.ops"),
        (("ops", "columns", "name", "of"), ["add"], "tables.ops: the column name points to nothing"),
        (("ops", "columns", "name", "of"), [1], "tables.ops: Expected `str`"),
        (("ops", "columns", "name", "of"), None, "tables.ops: the column name is not what it should be"),
        (("ops", "columns", "inputs", "sizes"), [-1], "tables.ops"),
        (("ops", "columns", "inputs", "sizes"), None, "tables.ops"),
        (("ops", "columns", "inputs", "at"), [[1, -5]], "tables.ops"),
        (("ops", "columns", "nothing"), {"at": [0]}, "tables.ops: Op has no nothing"),
        (("ops", "columns", "index", "base"), "", "capture.ops"),
        (("nodes", "columns", "saved", "rows"), None, "tables.nodes: the column saved is not what it should be"),
        (("nodes", "columns", "edges", "at"), [0], "tables.nodes"),
        (("nothing",), {"count": 0, "different": 0}, "tables.nothing"),
    ],
)
def test_the_table_is_named(path, value, said, all_as_tables):
    """Columns of another length, values of another type, counts beyond any capture: one line says where."""
    data = json.loads(report("exchanged").to_json())
    *outer, last = path
    found = data["tables"]
    for key in outer:
        found = found[key]
    found[last] = value
    with pytest.raises(ReportFormatError) as caught:
        Report.from_json(json.dumps(data))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_records_in_both_places_are_refused(all_as_tables):
    """A table beside records of the same name: nobody wrote that."""
    data = json.loads(report("exchanged").to_json())
    data["capture"]["ops"] = [{"index": 0, "name": "add", "inputs": [], "versions": [], "outputs": [], "site": -1}]
    with pytest.raises(ReportFormatError, match=r"tables\.ops"):
        Report.from_json(json.dumps(data))
