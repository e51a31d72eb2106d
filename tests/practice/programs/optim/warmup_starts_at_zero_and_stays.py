"""The warm-up's lambda divides integers with `//`: the learning rate is 0 for all of the run."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1, step // 100))  # cause
    before = net.weight.detach().clone()
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        warm.step()
    return torch.equal(before, net.weight)


def verify(out):
    assert out


TRUTH = Truth(
    fault="every step has learning rate 0",
    repair=("warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1, step / 100))",),
)
