"""An exponential moving average under no_grad, used for evaluation."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    average = copy.deepcopy(net).requires_grad_(False).eval()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(4, 2)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for mine, theirs in zip(average.parameters(), net.parameters()):
                mine.lerp_(theirs, 0.1)
            for mine, theirs in zip(average.buffers(), net.buffers()):
                mine.copy_(theirs)
            average(torch.randn(4, 2))


TRUTH = Truth()
