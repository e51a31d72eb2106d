"""A hand-made loss scale, divided out before the norm is taken."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    scale = 1024.0
    for _ in range(2):
        opt.zero_grad()
        (net(torch.randn(8, 4)).pow(2).mean() * scale).backward()
        for p in net.parameters():
            p.grad.div_(scale)
        norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        for p in net.parameters():
            p.grad.mul_((1.0 / (norm + 1e-6)).clamp(max=1.0))
        opt.step()


TRUTH = Truth()
