"""A block under checkpoint(), within compiled code, detaches what it made."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x):
        h = self.up(x).relu()
        return x + self.down(h.detach())  # cause


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False)
        return x


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = Net()
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(3, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
