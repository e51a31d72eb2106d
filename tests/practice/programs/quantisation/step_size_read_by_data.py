"""A learned step size is read through .data, and never learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


class StepQuantiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Parameter(torch.tensor(0.1))

    def forward(self, w):
        step = self.step.data  # cause
        scaled = (w / step).clamp(-8, 7)
        rounded = scaled + (scaled.round() - scaled).detach()
        return rounded * step


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4) * 0.2)
        self.quantise = StepQuantiser()

    def forward(self, x):
        return x @ self.quantise(self.weight).T


def run():
    torch.manual_seed(0)
    net = Layer()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(2):
        x = torch.randn(8, 4)
        loss = (net(x) - x).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net.quantise.step.grad


def verify(out):
    assert out is None


TRUTH = Truth(fault="the step size gets no gradient", names=("step",), repair=("step = self.step",))
