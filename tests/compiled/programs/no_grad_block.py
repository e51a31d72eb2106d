"""A no_grad block in a compiled forward covers a trained layer."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("backbone",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        with torch.no_grad():  # cause
            f = self.backbone(x)
        return self.head(f)


def setup():
    global net, optimizer
    net = Net()
    net.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(6, 4)).pow(2).mean().backward()
        optimizer.step()
