"""AG305: gradients that are clipped first, and scaled afterwards."""

from __future__ import annotations

import math

import torch
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm


def accumulated(*, clip_first=True, factor=0.25, limit=1.0, part=None, backwards=2):
    """Two steps, each with the sum of several backwards, which is averaged by hand."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaled = list(net.parameters())[:part]

    def average():
        for p in scaled:
            p.grad.mul_(factor)  # averaged

    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(backwards):
            net(torch.randn(3, 4)).pow(2).sum().backward()
        if not clip_first:
            average()
        nn.utils.clip_grad_norm_(net.parameters(), limit)
        if clip_first:
            average()
        optimizer.step()


def test_a_sum_that_is_averaged_behind_the_clipping():
    """The limit was applied to the sum."""
    diagnosed(
        accumulated,
        "AG305",
        "# averaged",
        "0.weight",
        "sum of 2 backward() calls",
        severity="warning",
        where=accumulated,
    )


def test_a_factor_on_the_gradient_of_one_backward_is_a_hint():
    """It may be meant for the step."""
    report = inspected(lambda: accumulated(backwards=1))
    (finding,) = (f for f in report.findings if "after they were clipped" in f.message)
    assert (finding.rule, finding.severity) == ("AG305", "info")


def test_scaled_before_in_part_by_one_or_measured_only():
    """Averaged first; one layer's rate lowered; a factor of 1; a limit that measures and clips nothing."""
    calm(
        lambda: accumulated(clip_first=False),
        lambda: accumulated(part=2),
        lambda: accumulated(factor=1.0),
        lambda: accumulated(limit=math.inf),
    )


def test_samples_that_are_clipped_one_by_one():
    """DP-SGD clips the gradient of each sample, and averages the noisy sum of the clipped ones."""

    def private():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            sums = [torch.zeros_like(p) for p in net.parameters()]
            for sample in torch.randn(3, 4):
                optimizer.zero_grad()
                net(sample).pow(2).sum().backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                for total, p in zip(sums, net.parameters(), strict=True):
                    total.add_(p.grad)
            for total, p in zip(sums, net.parameters(), strict=True):
                p.grad = total.add_(torch.randn_like(total), alpha=0.1)
                p.grad.div_(3)
            optimizer.step()

    calm(private)
