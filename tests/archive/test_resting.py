"""A long capture is kept as columns until somebody reads it, and is read as what it was."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
import torch

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.model.sound import fault_in
from autograd_inspector.views.columnar import captures, resting
from autograd_inspector.views.columnar.resting import Resting, at_rest

from .reports import KINDS, report
from .shown import shown_everywhere

OPS = 3_000
MOST = 400
"""Bytes of an op: half of it is what a report holds beside its ops, in a capture as short."""


@pytest.fixture
def all_at_rest(monkeypatch):
    """However short they are."""
    monkeypatch.setattr(resting, "LONG", 1)


def trained():
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    x = torch.ones(2, 4)
    with autograd_inspector.inspect() as inspection:
        for _ in range(OPS // 50):
            y = x
            for _ in range(24):
                y = net(y)
            y.pow(2).mean().backward()
    return inspection.report


def awake(given):
    return {name for name in given.capture.__struct_fields__ if loaded(getattr(given.capture, name), name)}


def loaded(records, name):
    return isinstance(records, Resting) and name in records._rest.records


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ranks"])
def test_json_is_written_from_the_columns(kind, all_at_rest, monkeypatch):
    """The same text as from the records, none of which is made for it."""
    monkeypatch.setattr(captures, "LONG", 1)
    given = report(kind)
    resting_report = type(given)(at_rest(given.capture), given.findings, given.ignored, given.notes, pages=given.pages)
    text = resting_report.to_json()
    assert not awake(resting_report)
    assert text == given.to_json()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ranks"])
def test_reports_of_every_kind(kind, all_at_rest):
    """Every view of it is made, and it equals the report whose records are there."""
    given = report(kind)
    capture = at_rest(given.capture)
    assert isinstance(capture.tensors, Resting) == bool(given.capture.tensors)
    assert fault_in(capture) == ""
    assert capture == given.capture
    assert given.capture == capture
    shown_everywhere(type(given)(capture, given.findings, given.ignored, given.notes, pages=given.pages))


def test_one_report_in_the_process_is_awake(all_at_rest):
    """JSON wakes none; a text wakes its own and lets the one before rest again."""
    first, second = trained(), trained()
    read = Report.from_json(first.to_json())
    assert not awake(first)
    text = first.to_text()
    assert "ops" in awake(first)
    assert not awake(second)
    assert second.to_text()
    assert not awake(first)
    assert first.to_text() == text
    assert read.to_text() == text
    assert read == first


def test_a_sequence_of_records_is_read_like_a_tuple(all_at_rest):
    """By index, from the end, by slice, backwards; an op that is there is found."""
    ops = trained().capture.ops
    everything = tuple(ops)
    assert isinstance(ops, Resting)
    assert (ops[0], ops[-1], ops[2:5], len(ops)) == (everything[0], everything[-1], everything[2:5], len(everything))
    assert tuple(reversed(ops)) == everything[::-1]
    assert everything[7] in ops
    assert (ops == everything, ops == [], hash(ops)) == (True, False, hash(everything))


def test_an_op_takes_few_bytes(all_at_rest):
    """With its tensors, its nodes, what they saved, and the calls that it ran in."""
    trained()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        given = trained()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(given.capture.ops) > OPS * 0.9
    assert held < MOST * len(given.capture.ops)
