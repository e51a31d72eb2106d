"""Heun's method: the step uses the mean of the slopes here and one step ahead."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net, x, y = nn.Linear(4, 1), torch.randn(16, 4), torch.randn(16, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        opt.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        old = [p.detach().clone() for p in net.parameters()]
        with torch.no_grad():
            for p in net.parameters():
                p.sub_(0.1 * p.grad)
        (net(x) - y).pow(2).mean().backward()
        with torch.no_grad():
            for p, before in zip(net.parameters(), old, strict=True):
                p.copy_(before)
        opt.step()


TRUTH = Truth()
