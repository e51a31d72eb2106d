"""An exported module, trained with its own parameters."""

import torch
import torch.nn.functional as F
from torch import nn

HEALTHY = True


def setup():
    global trained, optimizer
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    trained = torch.export.export(net, (torch.randn(3, 4),)).module()
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(trained(torch.randn(3, 4)), torch.tensor([0, 1, 1])).backward()
        optimizer.step()
