"""Decoupled weight decay by `.data.mul_()`, after the step, for matrices only."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run(decay=0.05):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 3))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(3, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        for p in net.parameters():
            if p.ndim > 1:
                p.data.mul_(1 - decay)
    return net


TRUTH = Truth()
