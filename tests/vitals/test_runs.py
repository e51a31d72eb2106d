"""Statistics over whole runs: memory, long ones, what is stored, and that nothing changes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.vitals import collector
from autograd_inspector.model.vitals import Vitals

from .test_parameters import row, vitals


def train(steps, net=None, lr=0.1, kind=torch.optim.Adam):
    net = net or nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = kind(net.parameters(), lr=lr)
    for step in range(steps):
        optimizer.zero_grad()
        net(torch.full((8, 4), step / steps)).pow(2).mean().backward()
        optimizer.step()
    return net


def test_bytes_of_each_kind():
    """Parameters, gradients and state of the optimizers, and what the graphs saved, in every step."""
    memory = vitals(lambda: train(2)).memory
    parameters = 4 * (4 * 8 + 8 + 8 + 1)
    assert memory.parameters == memory.gradients == (parameters, parameters)
    assert memory.state == (2 * parameters + 4 * 4,) * 2
    assert all(saved > 0 for saved in memory.saved)


def test_a_long_run_is_kept_in_bounded_room(monkeypatch):
    """Of 300 steps as many are kept as asked, with the first and the last, and the exact extremes of all."""
    monkeypatch.setattr(collector, "KEPT", 20)
    weight = nn.Parameter(torch.ones(2))
    model, optimizer = nn.ParameterList([weight]), torch.optim.SGD([weight], lr=0.0)

    def program():
        for step in range(1, 301):
            optimizer.zero_grad()
            (model[0] * (1000.0 if step == 137 else step)).sum().backward()
            optimizer.step()

    found = vitals(program)
    assert (len(found.steps), found.seen) == (20, 300)
    assert (found.steps[0], found.steps[-1]) == (1, 300)
    assert 137 not in found.steps
    entry = row(found, "0").entry
    assert len(entry.values) == 20
    assert list(entry.values) == [float(step) for step in found.steps]
    assert (entry.least.value, entry.least.step) == (1.0, 1)
    assert (entry.largest.value, entry.largest.step) == (1000.0, 137)
    assert len(found.memory.parameters) == len(found.memory.saved) == 20


def test_many_parameters_keep_fewer_steps(monkeypatch):
    """Of 4 rows of 6 figures and 3 rows of 5 each 18 steps have room."""
    monkeypatch.setattr(collector, "_CELLS", 18 * 39)
    found = vitals(lambda: train(40))
    assert len(found.steps) == 18
    assert found.seen == 40


def test_models_that_are_gone_keep_their_names():
    """What was made and dropped inside the block is named."""

    def program():
        for _ in range(2):
            train(20)

    assert {parameter.name for parameter in vitals(program).parameters} >= {"net.0.weight", "net.0.bias"}


def test_rows_name_the_tensors_of_the_capture():
    """Also where the capture was folded, and its tensors got other numbers."""
    with autograd_inspector.inspect(values=True) as inspection:
        net = train(40)
    report = inspection.report
    assert report.history.folded
    for parameter in report.vitals.parameters:
        assert report.capture.tensors[parameter.tensor].names == (parameter.name,)
    assert len(report.vitals.parameters) == len(list(net.parameters()))


def test_two_optimizers_of_one_step():
    """A step of the loop is one column, whichever optimizers it steps."""
    one, other = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1), torch.optim.SGD(other.parameters(), lr=0.1)]

    def program():
        for _ in range(3):
            for optimizer in optimizers:
                optimizer.zero_grad()
                other(one(torch.ones(8, 3))).sum().backward()
                optimizer.step()

    found = vitals(program)
    assert found.steps == (1, 2, 3)
    assert all(None not in parameter.gradient.values for parameter in found.parameters)
    assert {parameter.name for parameter in found.parameters} == {
        "one.weight",
        "one.bias",
        "other.weight",
        "other.bias",
    }


def test_without_values_there_are_none():
    """Nothing is read unless asked."""
    with autograd_inspector.inspect() as inspection:
        train(2)
    assert inspection.report.vitals == Vitals()
    assert not inspection.report.vitals


def test_a_report_keeps_them():
    """JSON and back, NaN and all; records have one line a row and step."""
    net = nn.Linear(2, 1)

    def program():
        (net(torch.ones(1, 2)) * math.nan).sum().backward()

    with autograd_inspector.inspect(values=True) as inspection:
        program()
    report = inspection.report
    assert autograd_inspector.Report.from_json(report.to_json()) == report
    [first, *_] = report.vitals.records()
    assert (first["parameter"], first["step"]) == ("weight", 1)
    assert math.isnan(first["gradient"])
    assert report.vitals.records("memory")[0]["step"] == 1
    with pytest.raises(ValueError, match="memory"):
        report.vitals.records("layers")


def test_to_dataframe():
    """The same as a table of pandas."""
    pytest.importorskip("pandas")
    frame = vitals(lambda: train(3)).to_dataframe("modules")
    assert list(frame.columns) == ["module", "step", "mean", "deviation", "zeros", "saturated", "dead"]
    assert len(frame) == 3 * 3


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW, torch.optim.LBFGS])
def test_the_program_keeps_its_bits(kind):
    """Parameters and random numbers are those of a run that nobody looks at."""

    def program():
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 1))
        optimizer = kind(net.parameters(), lr=0.05)
        for _ in range(5):

            def closure():
                optimizer.zero_grad()
                loss = net(torch.randn(16, 4)).pow(2).mean()
                loss.backward()
                return loss

            optimizer.step(closure)
        return [p.detach().clone() for p in net.parameters()], torch.rand(3)

    weights, numbers = program()
    with autograd_inspector.inspect(values=True) as inspection:
        seen_weights, seen_numbers = program()
    assert inspection.report.vitals.seen == 5
    assert all(map(torch.equal, weights, seen_weights))
    assert torch.equal(numbers, seen_numbers)


def test_a_failure_of_ours_is_a_note(monkeypatch):
    """The program goes on, the capture is whole, the vitals end."""
    monkeypatch.setattr(collector.Vitals, "_meet_gradients", lambda *_: 1 / 0)
    with autograd_inspector.inspect(values=True) as inspection:
        train(2)
    report = inspection.report
    assert any("vitals are missing" in note for note in report.notes)
    assert len(report.capture.steps) == 2
