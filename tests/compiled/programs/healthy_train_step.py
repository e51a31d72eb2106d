"""Forward, backward, step and zero_grad in one compiled function."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, optimizer
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)


@torch.compile(backend=BACKEND)
def train_step(x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def run():
    return [train_step(torch.randn(3, 4), torch.randn(3, 1)).item() for _ in range(3)]
