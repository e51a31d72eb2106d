"""Inputs in their raw unit saturate every sigmoid of the first layer."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 12), nn.Sigmoid(), nn.Linear(12, 1))
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for _ in range(3):
        load = 30.0e9 + 2.0e9 * torch.randn(16, 5)  # watts
        loss = nn.functional.mse_loss(net(load), torch.rand(16, 1))  # cause
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert net[0].weight.grad.abs().max() == 0


TRUTH = Truth(
    fault="the sigmoid is saturated and its gradient zero",
    values=True,
    names=("sigmoid",),
    repair=("loss = nn.functional.mse_loss(net(load / 30.0e9), torch.rand(16, 1))",),
)
