"""`opt.zero_grad` is mentioned, not called."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    x, norms = torch.ones(8, 4), []
    for _ in range(3):
        opt.zero_grad  # cause
        net(x).sum().backward()
        norms.append(net.bias.grad.item())
        opt.step()
    return norms


def verify(out):
    assert out == [8.0, 16.0, 24.0]


TRUTH = Truth(fault="the gradients are never cleared", names=("zero_grad",), repair=("opt.zero_grad()",))
