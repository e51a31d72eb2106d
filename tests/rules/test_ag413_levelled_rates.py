"""AG413: a scheduler that overwrites the learning rates of the groups with one for all."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import lr_scheduler

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def training(schedule, rates=(0.0, 0.1), steps=4):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    groups = [{"params": layer.parameters(), "lr": rate} for layer, rate in zip(net, rates, strict=True)]
    optimizer = torch.optim.SGD(groups, momentum=0.9)
    scheduler = schedule(optimizer)  # made
    for _ in range(steps):
        trained(optimizer, net(X).pow(2).mean())
        scheduler.step()


def cycle(optimizer, max_lr=0.1):
    return lr_scheduler.OneCycleLR(optimizer, max_lr=max_lr, total_steps=4)


def test_a_group_with_rate_zero_that_moves():
    """What was given 0 is moved, and told by name; so are rates that differ, which are gone."""
    finding = diagnosed(
        lambda: training(cycle), "AG413", "OneCycleLR(", "net.0.weight", severity="warning", where=cycle
    )
    assert "(0, 0.1)" in finding.message
    other = diagnosed(
        lambda: training(cycle, (0.01, 0.1)), "AG413", "OneCycleLR(", "0.01", severity="warning", where=cycle
    )
    assert "moves" not in other.message


def test_schedules_of_each_group():
    """A rate for each group, one that all have anyway, a factor of each, a warm-up from zero: nothing is lost."""

    def warm_up(optimizer):
        return lr_scheduler.LambdaLR(optimizer, lambda step: min(step / 2, 1))

    calm(
        lambda: training(lambda o: cycle(o, [0.0, 0.1])),
        lambda: training(cycle, (0.1, 0.1)),
        lambda: training(lambda o: lr_scheduler.StepLR(o, 2), (0.01, 0.1)),
        lambda: training(warm_up, (0.01, 0.1)),
    )


def test_one_rate_by_design():
    """Factors of one's own that bring the groups together later, after they began apart."""

    def together(optimizer):
        return lr_scheduler.LambdaLR(optimizer, [lambda step: min(1 + 3 * step, 10), lambda step: 1.0])

    calm(lambda: training(together, (0.01, 0.1)))
