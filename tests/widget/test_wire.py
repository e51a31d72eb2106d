from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from array import array
from itertools import accumulate
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from autograd_inspector.views import wire
from autograd_inspector.views.encoding import LARGE, encoded
from autograd_inspector.views.tables.columns import Columns, Strings

ROOT = Path(__file__).parent.parent.parent
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
CODES = {"int8": "b", "int16": "h", "int32": "i", "float64": "d"}


def unpacked(column, buffer):
    """A column as the front end reads it."""
    if not isinstance(column, wire.Packed):
        return list(column)
    if column.width == "constant":
        return [column.start] * column.count
    values = array(CODES[column.width])
    values.frombytes(buffer[column.start : column.start + column.count * values.itemsize])
    return [int(v) for v in (accumulate(values) if column.delta else values)]


def test_the_typescript_types_are_those_of_the_python_records():
    """labextension/src/wire.ts is what scripts/wire_types.py writes."""
    run = subprocess.run([sys.executable, "scripts/wire_types.py", "--check"], cwd=ROOT, check=False, env=ENV)
    assert run.returncode == 0


def test_the_text_is_a_wire_of_this_version(broken):
    """JSON that the records themselves read, with every node, edge and finding."""
    text, buffer = encoded(broken)
    read = msgspec.json.decode(text, type=wire.Wire)
    assert read.wire == wire.WIRE
    assert buffer == b""
    assert len(read.nodes.kind) == len(broken.graph.nodes)
    assert len(read.edges.source) == len(broken.graph.edges) + len(broken.version_edges)
    assert [story.rule for story in read.findings] == [finding.rule for finding in broken.findings]


def test_strings_stand_once(broken):
    """No text occurs twice in the table of strings."""
    strings = json.loads(encoded(broken)[0])["strings"]
    assert len(strings) == len(set(strings))


def test_columns_of_counts_add_up_to_the_table_that_they_count(large):
    """saved, inputs, outputs, ...: the rows of each owner follow one another."""
    text, buffer = encoded(large)
    read = msgspec.json.decode(text, type=wire.Wire)
    for counts, rows in (
        (read.nodes.saved, read.saved.name),
        (read.nodes.grad_fns, read.grad_fns.name),
        (read.ops.inputs, read.inputs.tensor),
        (read.ops.outputs, read.outputs.tensor),
        (read.ops.writes, read.writes.tensor),
        (read.sites.chain, read.chain.frame),
        (read.parameters.state, read.state.name),
    ):
        assert sum(unpacked(counts, buffer)) == len(unpacked(rows, buffer))


def test_a_large_graph_takes_less_than_250_bytes_a_node(large):
    """Details included: its columns are numbers in a buffer."""
    assert len(large.graph.nodes) > LARGE
    text, buffer = encoded(large)
    assert buffer
    assert (len(text.encode()) + len(buffer)) / len(large.graph.nodes) < 250


def test_a_packed_graph_says_the_same_as_an_unpacked_one(large, monkeypatch):
    """Each column holds the same numbers in either form."""
    packed, buffer = encoded(large)
    monkeypatch.setattr("autograd_inspector.views.encoding.LARGE", 10**9)
    plain, nothing = encoded(replace(large))
    assert nothing == b""
    one, other = (msgspec.json.decode(text, type=wire.Wire) for text in (packed, plain))
    for name in wire.Nodes.__struct_fields__:
        assert unpacked(getattr(one.nodes, name), buffer) == list(getattr(other.nodes, name))
    assert one.strings == other.strings


@pytest.mark.parametrize(
    "values",
    [(0, 0, 0), (1, 2, 3), (-128, 127), (0, 300, 299), (70_000, 70_001), (0, 1 << 40), (-1, 1 << 31)],
    ids=str,
)
def test_numbers_of_any_size_survive_packing(values):
    """The narrowest width that holds them, or their differences."""
    columns = Columns(packed=True)
    column = columns.numbers(list(values))
    assert unpacked(column, bytes(columns.buffer)) == list(values)


def test_an_empty_column_is_there():
    """So that a front end need not ask."""
    assert Columns(packed=True).numbers([]) == ()


@pytest.mark.parametrize("name", ["</script>", "a\x00b", "\u202eevil", "x" * 10_000, "\ud800", "\u202e\n&<b>"])
def test_hostile_names_are_text_that_json_can_carry(name):
    """Controls and direction marks are spelled out, long names cut, lone surrogates replaced."""
    strings = Strings()
    strings[name]
    (kept,) = json.loads(msgspec.json.encode(strings.all))
    assert len(kept) < 2000
    assert all(character == "\n" or character.isprintable() for character in kept)


def test_hostile_errors_and_messages_do_not_break_the_text(broken):
    """A report whose program raised with garbage is still one line of JSON."""
    capture = replace(broken.capture, error="\ud800\x00</script>")
    finding = replace(broken.findings[0], message="\ud800 \x1b[31m", fix="one\ntwo\x00")
    text, _ = encoded(replace(broken, capture=capture, findings=(finding,)))
    read = json.loads(text)
    assert "\n" not in text
    assert read["findings"][0]["fix"] == "one\ntwo\\x00"


def test_a_finding_names_its_nodes(broken):
    """Those of the ops that it is about."""
    story = json.loads(encoded(broken)[0])["findings"][0]
    names = {broken.graph.nodes[number].name for number in story["nodes"]}
    assert names & {"add_", "sigmoid"}
    (culprit,) = [line for line in story["code"][0]["lines"] if line.get("culprit")]
    assert culprit["text"].strip() == "hidden.add_(1.0)"


def test_events_tell_modes_backward_and_steps(detached):
    """In program order, each with the op that it comes before."""
    read = json.loads(encoded(detached)[0])
    kinds = [read["strings"][kind] for kind in read["events"]["kind"]]
    assert [kind for kind in kinds if kind in {"mode", "backward", "step"}] == ["mode", "mode", "backward", "step"]
    assert read["events"]["at"] == sorted(read["events"]["at"])


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_left_as_it_was(broken, on):
    """Encoding pauses it; whether the program had it on is the program's affair."""
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        encoded(broken)
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()
