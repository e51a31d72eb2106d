"""A loss that is summed over a batch on purpose, with a rate that fits; and a penalty with a large weight."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 1e-5)
    for _ in range(3):
        x, y = torch.randn(64, 4), torch.randn(64, 2)
        loss = (net(x) - y).pow(2).sum() * 128.0
        loss = loss + 1000.0 * net.weight.pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


TRUTH = Truth()
