"""LARS by hand: each gradient is multiplied by a ratio of norms; nothing is scaled."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        opt.zero_grad()
        (0.5 * net(torch.randn(8, 4)).pow(2).mean()).backward()
        for p in net.parameters():
            p.grad.mul_(p.detach().norm() / (p.grad.norm() + 1e-6))
        opt.step()


TRUTH = Truth()
