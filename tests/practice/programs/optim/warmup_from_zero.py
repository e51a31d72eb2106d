"""The first step has learning rate zero, the next ones do not."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, step / 3))
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        warm.step()


TRUTH = Truth()
