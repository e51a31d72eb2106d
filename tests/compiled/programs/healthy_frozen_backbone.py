"""A frozen backbone, not given to the optimizer; its features are computed under no_grad in compiled code."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(4, 8).requires_grad_(False)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        with torch.no_grad():
            f = torch.relu(self.backbone(x))
        return self.head(f)


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.head.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
