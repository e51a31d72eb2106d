"""AG413: a learning rate that the program sets, and that a scheduler overwrites."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
SCHEDULES = {
    "lambda": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step / 10)),
    "restarts": lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 20),
    "cycle": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=40),
    "warm-up first": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer,
        [lr_scheduler.LinearLR(optimizer, 0.5, total_iters=2), lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 20)],
        [2],
    ),
}
CHAINED = {
    "exponential": lambda optimizer: lr_scheduler.ExponentialLR(optimizer, 0.9),
    "steps": lambda optimizer: lr_scheduler.StepLR(optimizer, 2, 0.1),
    "cosine": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 20),
}


def training(schedule, set_rate, *, steps=7):
    """Calls ``set_rate(optimizer, step)`` before each step."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD([{"params": layer.parameters()} for layer in net], lr=0.1)
    scheduler = schedule(optimizer)
    for step in range(steps):
        set_rate(optimizer, step)
        trained(optimizer, net(X).pow(2).mean())
        scheduler.step()  # computes it anew


def cut(optimizer, step):
    if step == 4:
        for group in optimizer.param_groups:
            group["lr"] *= 0.1


def rest(optimizer, step):
    if step == 4:
        optimizer.param_groups[1]["lr"] = 0.0


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("set_rate", [cut, rest])
def test_rate_that_the_schedule_takes_back(schedule, set_rate):
    """The step of the scheduler that overwrites it, whichever schedule is computed from the number of the step."""
    finding = diagnosed(
        lambda: training(SCHEDULES[schedule], set_rate), "AG413", "# computes it anew", "is used for 1 step only",
        severity="warning", where=training,
    )  # fmt: skip
    assert ("freeze its parameters" in finding.fix) == (set_rate is rest)
    assert ("1.bias" in finding.message) == (set_rate is rest)


@pytest.mark.parametrize("schedule", CHAINED)
@pytest.mark.parametrize("set_rate", [cut, rest])
def test_schedule_that_goes_on_from_what_was_set(schedule, set_rate):
    """Some schedulers multiply the rate that they find."""
    calm(lambda: training(CHAINED[schedule], set_rate))


def test_line_that_sets_the_rate():
    """It is named where the function that steps has it."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scheduler = SCHEDULES["lambda"](optimizer)
        for epoch in range(4):
            if epoch == 2:
                optimizer.param_groups[0]["lr"] = 0.001  # by hand
            for _ in range(2):
                trained(optimizer, net(X).pow(2).mean())
            scheduler.step()

    diagnosed(program, "AG413", "# by hand", "used for 2 steps only", severity="warning")


def test_rates_that_are_meant_to_be_set_for_a_while():
    """A warm-up by hand ends where the schedule begins; what is set again each time is in force; loads are no rates."""

    def warm_up(optimizer, step):
        if step < 3:
            for group in optimizer.param_groups:
                group["lr"] = 0.1 * (step + 1) / 4

    def throughout(optimizer, step):
        optimizer.param_groups[1]["lr"] = 0.1 * optimizer.param_groups[0]["lr"]

    def from_then_on(optimizer, step):
        if step >= 3:
            optimizer.param_groups[1]["lr"] = 0.0

    def loaded(optimizer, step):
        if step == 3:
            state = optimizer.state_dict()
            for group in state["param_groups"]:
                group["lr"] = 0.01
            optimizer.load_state_dict(state)

    for set_rate in (warm_up, throughout, from_then_on, loaded):
        calm(lambda set_rate=set_rate: training(SCHEDULES["lambda"], set_rate))
