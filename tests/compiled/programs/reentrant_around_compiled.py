"""Reentrant checkpointing around compiled blocks whose input needs no gradient: the blocks learn nothing."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND

RULES = "AG106 AG301 AG102"
NAMES = ("use_reentrant", "blocks")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(5, 5), nn.Tanh()) for _ in range(2))
        self.head = nn.Linear(5, 1)

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)  # cause
        return self.head(x)


def setup():
    global net, optimizer
    torch.manual_seed(0)
    net = Net()
    for block in net.blocks:
        block.compile(backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        x = torch.randn(4, 5)
        optimizer.zero_grad()
        F.mse_loss(net(x), x.mean(1, keepdim=True)).backward()
        optimizer.step()
