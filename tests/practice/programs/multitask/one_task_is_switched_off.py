"""Weights of the readings of a running sum; the first is 0, so the sum itself is what is used."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(5, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    weights = [0.0, 1.0]
    for _ in range(3):
        opt.zero_grad()
        out, read = net(torch.randn(8, 5)), []
        for task in range(2):
            out[:, task].pow(2).mean().backward(retain_graph=True)
            read.append(net.weight.grad.clone())
        net.weight.grad = sum(weight * gradient for weight, gradient in zip(weights, read, strict=True))
        opt.step()


TRUTH = Truth()
