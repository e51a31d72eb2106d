"""The exported module has parameters of its own, and the optimizer those of the module that was exported."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

RULES = "AG404 AG405 AG301"
NAMES = ("weight",)


def setup():
    global trained, optimizer
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    trained = copy.deepcopy(torch.export.export(net, (torch.randn(3, 4),)).module())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(trained(torch.randn(3, 4)), torch.tensor([0, 1, 1])).backward()
        optimizer.step()
