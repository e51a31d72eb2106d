"""A hundred thousand steps in the room of a few."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from autograd_inspector.capture.vitals import collector
from autograd_inspector.capture.vitals.collector import Vitals
from autograd_inspector.capture.vitals.freezing import frozen
from autograd_inspector.capture.vitals.memory import Bytes
from autograd_inspector.capture.vitals.transfer import Reading

STEPS = 100_000
CAPACITY = 32


def norm(step: int) -> float:
    """A value of its own for each step, with one spike, one dip and one NaN."""
    return {31_415: 1e9, 77_777: 1e-9, 50_000: math.nan}.get(step, 1 + step / STEPS)


def numbers_held(vitals: Vitals) -> int:
    """All that a collector keeps for its steps."""
    tables = (vitals.weights.table, vitals.activations.table)
    lines = sum(len(line) for table in tables for line in table.lines)
    memory = vitals.memory
    columns = (memory.parameters, memory.gradients, memory.state, memory.peak, memory.places)
    waiting = len(vitals._waiting) + len(vitals._open) + len(vitals._of_present) + len(vitals.saved)
    return lines + sum(map(len, columns)) + waiting + len(vitals.kept.numbers)


@pytest.fixture
def measured(monkeypatch):
    """A collector whose weights have a figure a step without a tensor being measured."""
    monkeypatch.setattr(collector, "KEPT", CAPACITY)
    vitals, parameter = Vitals(), nn.Parameter(torch.ones(2, 2))
    row = vitals.weights._row(0, parameter)
    step = 0

    def gradients(_):
        value = norm(step)  # It is told when the next step has begun.
        yield Reading((), lambda _: vitals.weights.table.put(row, 0, (value,)))

    monkeypatch.setattr(vitals.weights, "gradients", gradients)
    monkeypatch.setattr(vitals.weights, "moving", lambda _: [])
    held = Bytes(0, 16, 16, 32)

    def run(until):
        nonlocal step
        while step < until:
            step += 1
            vitals.step_begins([(0, parameter)])
            vitals.step_ends()
            vitals.belongs(step, lambda: held)
        return vitals

    return run


def test_bounded_and_exact(measured):
    """No more is held after 100,000 steps than after 1,000; first, last and extremes are exact, whichever are kept."""
    early = numbers_held(measured(1_000))
    vitals = measured(STEPS)
    assert numbers_held(vitals) == early
    vitals.finish((), ran=False, saved=[7] * STEPS)
    assert len(vitals.saved) == CAPACITY
    found = frozen(vitals)
    assert not vitals.failed
    assert (found.seen, len(found.steps)) == (STEPS, CAPACITY)
    assert (found.steps[:2], found.steps[-2:]) == ((1, 2), (STEPS - 1, STEPS))
    figure = found.parameters[0].gradient
    assert not {31_415, 77_777} & set(found.steps)
    assert (figure.largest.value, figure.largest.step) == (1e9, 31_415)
    assert (figure.least.value, figure.least.step) == (1e-9, 77_777)
    assert list(figure.values) == pytest.approx([norm(step) for step in found.steps], rel=1e-3)
    gaps = [after - before for before, after in zip(found.steps, found.steps[1:], strict=False)]
    # As a logarithm has it: steps between kept ones grow with the distance to the nearer end.
    assert max(gaps) > 1_000 * gaps[0]
    assert found.memory.saved == (7,) * CAPACITY
