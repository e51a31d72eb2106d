"""AG305: a scheduler that steps before its optimizer, or at each backward."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import inspected, line_of, summary


def learn(order, rounds=3):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for number in range(rounds):
        optimizer.zero_grad()
        net(torch.ones(3, 4)).pow(2).mean().backward()
        order(optimizer, scheduler, number)


def early(optimizer, scheduler, number):
    scheduler.step()  # Early.
    optimizer.step()


def late(optimizer, scheduler, number):
    optimizer.step()
    scheduler.step()


def left_out_once(optimizer, scheduler, number):
    if number:
        optimizer.step()
    scheduler.step()


def each_second(optimizer, scheduler, number):
    if number % 2:
        scheduler.step()
    optimizer.step()


def test_a_scheduler_that_comes_first():
    """A hint that names both calls, at the line of the scheduler."""
    report = inspected(lambda: learn(early))
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("AG305", "info"), summary(report)
    assert finding.locations[0].lineno == line_of(early, "# Early.")
    assert "StepLR.step()" in finding.message


@pytest.mark.parametrize("order", [late, left_out_once, each_second])
def test_other_orders(order):
    """After the optimizer, after a step that a scaler left out, and a scheduler that counts epochs."""
    report = inspected(lambda: learn(order, rounds=4))
    assert report.findings == (), summary(report)


def test_one_round_tells_nothing():
    """A schedule that was moved on before training began looks the same."""
    report = inspected(lambda: learn(early, rounds=1))
    assert report.findings == (), summary(report)


def accumulated(order, rounds=6):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=9)
    for number in range(rounds):
        net(torch.ones(3, 4)).pow(2).mean().backward()
        order(optimizer, scheduler, number)


def at_each_backward(optimizer, scheduler, number):
    if number % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()  # Fast.


def at_each_step(optimizer, scheduler, number):
    if number % 3 == 2:
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()


def twice_a_step(optimizer, scheduler, number):
    if number % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
        for _ in range(3):
            scheduler.step()


def test_a_scheduler_that_counts_micro_batches():
    """A hint that says how many times it steps for each step of the optimizer."""
    report = inspected(lambda: accumulated(at_each_backward))
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("AG305", "info"), summary(report)
    assert finding.locations[0].lineno == line_of(at_each_backward, "# Fast.")
    assert "3 times" in finding.message


@pytest.mark.parametrize("order", [at_each_step, twice_a_step])
def test_schedulers_beside_the_step(order):
    """One that steps with the optimizer, and one that is let run ahead there on purpose."""
    report = inspected(lambda: accumulated(order))
    assert report.findings == (), summary(report)


def peaked(order, factor, every=3):
    """A schedule that an optimizer meets at other moments than where it was meant to."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for number in range(3 * every):
        net(torch.ones(3, 4)).pow(2).mean().backward()
        order(optimizer, scheduler, number)


def test_a_schedule_that_is_over_at_each_step():
    """A warning where the lr is 0 whenever the optimizer steps; beside the step, the same schedule is fine."""
    report = inspected(lambda: peaked(at_each_backward, lambda count: max(0.0, 1 - count / 2)))
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("AG305", "warning"), summary(report)
    assert finding.locations[0].lineno == line_of(at_each_backward, "# Fast.")
    assert "its lr is 0" in finding.message
    report = inspected(lambda: peaked(at_each_step, lambda count: 1 - count / 4))
    assert report.findings == (), summary(report)
