"""Two tasks: the first gradient is taken out of the sum with a factor of -1, and weighed anew."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(5, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        opt.zero_grad()
        out = net(torch.randn(8, 5))
        out[:, 0].pow(2).mean().backward(retain_graph=True)
        first = [p.grad.clone() for p in net.parameters()]
        (out[:, 1] - 1).pow(2).mean().backward()
        for p, one in zip(net.parameters(), first, strict=True):
            other = p.grad + (-1) * one
            p.grad = one / (one.norm() + 1e-8) + other / (other.norm() + 1e-8)
        opt.step()


TRUTH = Truth()
