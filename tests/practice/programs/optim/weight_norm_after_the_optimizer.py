"""Weight norm replaces the parameter after the optimizer was made."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net = weight_norm(net)  # cause
    before = net.weight.detach().clone()
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    return torch.allclose(before, net.weight)


def verify(out):
    assert out


TRUTH = Truth(
    fault="the optimizer does not hold the new parameters",
    repair=("net = weight_norm(net)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)",),
)
