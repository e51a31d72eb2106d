"""The version ledger: who wrote, through which alias, and whether a counter moved."""

import contextlib
import sys

import pytest
import torch
from torch import nn

import autograd_inspector
from tests.capture.observe import observe, op


def writes(capture, name):
    """(before, after) of every write of the one op of that name."""
    return [(write.before, write.after) for write in op(capture, name).writes]


def test_an_in_place_op_is_a_write_of_its_storage():
    """A write through a view is a write of the base's storage and counter."""

    def program():
        x = torch.zeros(4)
        x[1:].mul_(2)

    capture = observe(program)
    (write,) = op(capture, "mul_").writes
    base = capture.tensors[op(capture, "zeros").outputs[0]]
    assert (write.before, write.after) == (0, 1)
    assert write.storage == base.storage
    assert capture.tensors[write.tensor].counter == base.counter


def test_detach_shares_the_counter_and_data_has_its_own():
    """A write through detach() is seen by autograd; one through .data is not."""

    def program():
        x = torch.zeros(4)
        x.detach().mul_(2)
        x.data.add_(1)

    capture = observe(program)
    x = capture.tensors[op(capture, "zeros").outputs[0]]
    through_detach = capture.tensors[op(capture, "mul_").writes[0].tensor]
    through_data = capture.tensors[op(capture, "add_").writes[0].tensor]
    assert through_detach.counter == x.counter
    assert through_data.counter != x.counter
    assert through_data.storage == x.storage


WRITERS = {
    "out": lambda x: torch.mul(torch.ones(4), 2, out=x),
    "setitem": lambda x: x.__setitem__(0, 1.0),
    "copy": lambda x: x.copy_(torch.ones(4)),
    "foreach": lambda x: torch._foreach_add_([x], 1.0),
    "init": nn.init.ones_,
    "in place on a slice": lambda x: x[:2].zero_(),
}


@pytest.mark.parametrize("way", WRITERS)
def test_every_way_of_writing_is_seen(way):
    """out=, indexing, copy_, _foreach_*, nn.init: each is a write that moves the counter by one."""
    made = []

    def program():
        made.append(torch.zeros(4))
        WRITERS[way](made[0])

    capture = observe(program)
    storage = capture.tensors[capture.ops[0].outputs[0]].storage
    found = [(w.before, w.after) for op in capture.ops for w in op.writes if w.storage == storage]
    assert found == [(0, 1)]


def test_a_forward_that_writes_its_own_weight():
    """An embedding with max_norm renormalises its weight in forward."""

    def program():
        nn.Embedding(5, 3, max_norm=0.1)(torch.tensor([1, 2]))

    capture = observe(program)
    (write,) = op(capture, "embedding").writes
    assert capture.tensors[write.tensor].names == ("weight",)
    assert not write.unseen


def test_running_statistics_are_written_behind_autograds_back():
    """A batch norm in training mode updates its statistics without moving their counters; in eval it does not."""

    def program():
        norm = nn.BatchNorm1d(3)
        norm(torch.ones(4, 3))
        norm.eval()(torch.ones(4, 3))

    training, evaluating = (op for op in observe(program).ops if op.name == "batch_norm")
    assert [w.unseen for w in training.writes] == [True, True]
    assert evaluating.writes == ()


def test_assigning_data_replaces_the_storage_without_a_trace():
    """x.data = y moves no counter: the write says so."""

    def program():
        x = torch.zeros(4)
        x.data = torch.ones(4)
        x * 2

    capture = observe(program)
    (write,) = op(capture, "set_data").writes
    assert write.unseen


def test_a_storage_that_is_freed_and_reused_is_not_mistaken():
    """Two tensors that had the same address one after the other are two tensors and two storages."""

    def program():
        for _ in range(50):
            torch.zeros(4).add_(1)

    capture = observe(program)
    storages = [capture.tensors[op.outputs[0]].storage for op in capture.ops if op.name == "zeros"]
    assert len(set(storages)) == 50


def test_saved_and_current_version_of_a_spoiled_tensor():
    """The saved version is that right after the op that saved, whatever came before or after."""

    def program():
        x = torch.ones(4, requires_grad=True) * 1
        x.mul_(2)
        y = x.exp()
        y.add_(1)
        y.add_(1)
        with contextlib.suppress(RuntimeError):
            y.sum().backward()

    capture = observe(program)
    graph = capture.graph_of(capture.backwards[0])
    (spoiled,) = [s for node in graph.nodes for s in node.saved if s.status == "modified"]
    assert (spoiled.name, spoiled.saved_version, spoiled.current_version) == ("result", 0, 2)
    assert "is at version 2; expected version 0" in spoiled.verdict


def raised_in(program):
    """How many exceptions were raised in frames of the recorder's while that ran in a block."""
    counted = []

    def local(frame, event, raised):
        if event == "exception" and frame.f_code.co_filename.endswith(("calls/ops.py", "capture/attributes.py")):
            counted.append(raised[1])
        return local

    before = sys.gettrace()
    with autograd_inspector.inspect() as inspection:
        sys.settrace(lambda *_: local)
        try:
            program()
        finally:
            sys.settrace(before)
    return len(set(map(id, counted))), inspection.report.capture


def test_tensors_without_a_version_are_not_asked_for_one():
    """Torch raises for an inference tensor, which costs more than all else: that happens once a tensor at the most."""

    def program():
        with torch.inference_mode():
            weight = torch.ones(2)
            for _ in range(10):
                weight = weight * 2 + weight
        for _ in range(10):
            weight * 2

    count, capture = raised_in(program)
    assert len(capture.ops) == 31
    assert count == 0


def test_a_parameter_made_in_inference_mode_is_asked_once():
    """That it requires grad does not give it a version."""

    def program():
        with torch.inference_mode():
            parameter = nn.Parameter(torch.ones(2))
        with torch.no_grad():
            for _ in range(10):
                parameter * 2

    count, _ = raised_in(program)
    assert count <= 1
