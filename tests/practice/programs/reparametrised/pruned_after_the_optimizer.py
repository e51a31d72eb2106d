"""Pruning keeps the same parameter under another name."""

import torch
from torch import nn
from torch.nn.utils import prune

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    prune.l1_unstructured(net, "weight", amount=0.5)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


TRUTH = Truth()
