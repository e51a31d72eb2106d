"""Learned task weights are multiplied after requires_grad was set."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(5, 3)
    weights = torch.ones(3, requires_grad=True) * 0.5  # cause
    opt = torch.optim.Adam([{"params": net.parameters()}, {"params": [weights]}], 1e-2)  # also
    for _ in range(2):
        losses = (net(torch.randn(8, 5)) - torch.randn(8, 3)).pow(2).mean(0)
        loss = (weights.softmax(0) * losses).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return weights


TRUTH = Truth(
    fault="the weights are the result of an operation",
    raises="can't optimize a non-leaf Tensor",
    names=("weights",),
    repair=("weights = torch.full((3,), 0.5, requires_grad=True)",),
)
