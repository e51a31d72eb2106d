"""The averaged weights are updated with autograd on: their graph grows by a node a step."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    G = nn.Linear(2, 3)
    average = copy.deepcopy(G).requires_grad_(False)
    opt = torch.optim.SGD(G.parameters(), 0.1)
    for _ in range(4):
        opt.zero_grad()
        G(torch.randn(4, 2)).pow(2).mean().backward()
        opt.step()
        for mine, theirs in zip(average.parameters(), G.parameters()):
            mine.mul_(0.9).add_(theirs, alpha=0.1)  # cause
    return average.weight.grad_fn is not None


def verify(out):
    assert out


TRUTH = Truth(
    fault="the moving average carries a graph from step to step",
    repair=("mine.mul_(0.9).add_(theirs.detach(), alpha=0.1)",),
)
