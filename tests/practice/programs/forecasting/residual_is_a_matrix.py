"""Predictions have a column, targets none: the difference is a matrix, and every target teaches every sample."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(3):
        window = torch.randn(32, 8)
        target = window.mean(1)
        pred = net(window)
        error = pred - target  # cause
        loss = torch.where(error.abs() < 1, 0.5 * error**2, error.abs() - 0.5).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return error


def verify(error):
    assert error.shape == (32, 32)


TRUTH = Truth(
    fault="each prediction is compared with all targets",
    names=("target",),
    repair=("error = pred.squeeze(1) - target",),
)
