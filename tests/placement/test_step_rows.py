"""Rows of steps tell what was seen when each step ran, not how things stood at the end; a version bump is a write."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.steps_history import History, Runs
from autograd_inspector.views.summaries.steps import steps_of

from .told import fates, numbers, step_rows

X = torch.ones(2, 4)
NAMES = ("net.weight", "net.bias")
WRITTEN = dict.fromkeys(NAMES, "written")


def inspected(optimizer_of, between=lambda net, optimizer, number: None, steps=3):
    net = nn.Linear(4, 1)
    optimizer = optimizer_of(net)
    with autograd_inspector.inspect() as inspection:
        for number in range(steps):
            between(net, optimizer, number)
            optimizer.zero_grad()
            net(X).square().mean().backward()
            optimizer.step()
    return inspection.report


def figures(report):
    """Label of each figure of the steps -> what is said of it."""
    return {row.label: row.said for row in steps_of(report).rows}


def lost_its_data(report):
    """One step of three wrote nothing, for its state was on meta; which of the three."""
    good, lost = step_rows(report)
    assert (good.counts, good.times) == ([2, 2], 2)
    assert (lost.counts, lost.times) == ([0, 2], 1)
    assert "on meta" in lost.about(*NAMES)
    steps = fates(report)
    (at,) = [at for at, step in enumerate(steps) if step != WRITTEN]
    assert all("on meta" in why for why in steps[at].values())
    assert set(steps[at]) == set(NAMES)
    return at


def momentum(net):
    return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def test_state_that_loses_its_data_later():
    """The steps before were good ones."""

    def between(net, optimizer, number):
        if number == 2:
            for state in optimizer.state.values():
                state["momentum_buffer"] = state["momentum_buffer"].to("meta")

    assert lost_its_data(inspected(momentum, between)) == 2


def test_state_that_gets_its_data_back():
    """A step whose state was on meta did not write, however things stand at the end."""

    def between(net, optimizer, number):
        for state in optimizer.state.values() if number else ():
            like = torch.zeros_like if number == 2 else torch.empty_like
            state["momentum_buffer"] = like(state["momentum_buffer"], device="cpu" if number == 2 else "meta")

    assert lost_its_data(inspected(momentum, between)) == 1


def test_group_that_is_changed_later():
    """A parameter that goes over into a group at lr 0 was written by the steps before."""

    def between(net, optimizer, number):
        if number == 2:
            assert optimizer.param_groups[0]["params"].pop() is net.bias
            optimizer.add_param_group({"params": [net.bias], "lr": 0.0})

    report = inspected(lambda net: torch.optim.SGD(net.parameters(), lr=0.1), between)
    before, after = step_rows(report)
    assert (before.counts, before.times) == ([2, 2], 2)
    assert (after.counts, after.times) == ([1, 2], 1)
    assert "lr 0" in after.about("net.bias")
    assert not [part for part in after.parts if "net.weight" in part]
    assert list(report.history.written()) == [2, 2, 1]


def test_parameter_that_is_frozen_out_of_sight():
    """Whether it required grad is asked when the step begins."""

    class Freezing(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            for group in self.param_groups:
                for p in group["params"]:
                    p.requires_grad_(True)

    def between(net, optimizer, number):
        net.bias.requires_grad_(number != 1)

    report = inspected(lambda net: Freezing(net.parameters(), lr=0.1), between)
    assert fates(report) == [WRITTEN, WRITTEN | {"net.bias": "frozen"}, WRITTEN]
    learning, frozen = step_rows(report)
    assert (learning.counts, learning.times) == ([2, 2], 2)
    assert (frozen.counts, frozen.times) == ([1, 2], 1)
    assert "frozen" in frozen.about("net.bias")


class ThroughData(torch.optim.SGD):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.data.add_(p.grad, alpha=-group["lr"])


class Idle(torch.optim.SGD):
    def step(self, closure=None):
        pass


@pytest.mark.parametrize(
    "optimizer_of",
    [
        lambda net: torch.optim.SGD(net.parameters(), lr=0.1, fused=True),
        lambda net: torch.optim.AdamW(net.parameters(), lr=0.1, fused=True),
        lambda net: ThroughData(net.parameters(), lr=0.1),
        lambda net: Idle(net.parameters(), lr=0.1),
    ],
    ids=["SGD", "AdamW", "data", "idle"],
)
def test_steps_that_move_no_version_counter(optimizer_of):
    """Whether they wrote is not known: they are told neither as writes nor as none."""
    report = inspected(optimizer_of)
    assert fates(report) == [dict.fromkeys(NAMES, "unseen")] * 3
    (row,) = step_rows(report)
    assert (row.counts, row.times) == ([2, 2], 3)
    assert "no version counter" in row.parts[0]
    assert "wrote" not in row.parts[0]
    assert list(report.history.written()) == [-1, -1, -1]
    assert figures(report)["parameters written"].startswith("not seen")


def test_some_parameters_of_a_group_that_are_left_out():
    """Where the step moves the counters of others of the group, those that it does not move were not written."""

    class First(torch.optim.SGD):
        def step(self, closure=None):
            with torch.no_grad():
                first = self.param_groups[0]["params"][0]
                first.add_(first.grad, alpha=-0.1)

    report = inspected(lambda net: First(net.parameters(), lr=0.1))
    (row,) = step_rows(report)
    assert (row.counts, row.times) == ([1, 2], 3)
    assert "did not write" in row.about("net.bias")
    assert [step["net.weight"] for step in fates(report)] == ["written"] * 3
    assert list(report.history.written()) == [1, 1, 1]


def test_fused_group_beside_another():
    """Each group is told by itself."""

    def optimizer_of(net):
        return torch.optim.SGD([{"params": [net.weight]}, {"params": [net.bias], "fused": True}], lr=0.1)

    report = inspected(optimizer_of)
    assert fates(report) == [{"net.weight": "written", "net.bias": "unseen"}] * 3
    (row,) = step_rows(report)
    assert row.counts == [1, 2]
    assert numbers(row.parts[1]) == [1]
    assert "no version counter" in row.parts[1]
    said = figures(report)
    assert said["parameters written"].startswith("not seen")
    assert said["parameters with a gradient"] == "2 of 2"


def test_a_row_of_which_nothing_is_known():
    """Only what version counters would tell is not seen for want of one."""
    unknown = Runs.of([(0, 3, -1)])
    columns = ("ops", "nodes", "saved_bytes", "backwards", "parameters", "without", "still", "stepped", "graph")
    report = ReportData(Capture(history=History(steps=3, **dict.fromkeys(columns, unknown))))
    said = figures(report)
    assert said.pop("parameters written").startswith("not seen")
    assert set(said.values()) == {"not known"}


def test_no_row_says_moved():
    """Values were not read: nothing is said to have moved."""
    report = inspected(momentum)
    assert [row.counts for row in step_rows(report)] == [[2, 2]]
    assert "moved" not in report.to_text()
