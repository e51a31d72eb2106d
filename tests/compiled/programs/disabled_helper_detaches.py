"""A function that dynamo is kept out of detaches between two graphs."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("enc",)


@torch.compiler.disable
def quantise(z):
    return torch.round(z * 8).detach() / 8  # cause


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.dec = nn.Linear(4, 4)

    def forward(self, x):
        return self.dec(quantise(torch.tanh(self.enc(x))))


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        x = torch.randn(3, 4)
        F.mse_loss(net(x), x).backward()
        optimizer.step()
