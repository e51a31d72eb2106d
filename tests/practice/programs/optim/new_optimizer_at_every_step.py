"""Adam is made inside the loop: its moments start at zero at every step."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(4):
        opt = torch.optim.Adam(net.parameters(), 1e-2)  # cause
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    return opt.state[net.weight]["step"].item()


def verify(out):
    assert out == 1


TRUTH = Truth(fault="the optimizer is made anew at every step and loses its state", repair=("pass",))
