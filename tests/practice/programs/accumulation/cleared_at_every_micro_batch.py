"""Gradient accumulation that clears at each micro-batch: only the last one counts."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    for number, (a, b) in enumerate(zip(x.split(8), y.split(8), strict=True), 1):
        opt.zero_grad()  # cause
        loss = F.mse_loss(net(a), b) / 4
        loss.backward()
        if number % 4 == 0:
            got = net.weight.grad.clone()
            opt.step()
    return got.abs().max().item()


def verify(out):
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    F.mse_loss(net(x), y).backward()
    assert abs(out - net.weight.grad.abs().max().item()) > 1e-3


TRUTH = Truth(
    fault="three of four micro-batches are thrown away",
    names=("zero_grad",),
    repair=("if number % 4 == 1:\n    opt.zero_grad()",),
)
