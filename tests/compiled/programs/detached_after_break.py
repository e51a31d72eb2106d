"""A print breaks the graph; what comes after it detaches."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("enc",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.dec = nn.Linear(4, 4)

    def forward(self, x):
        z = torch.tanh(self.enc(x))
        torch._dynamo.graph_break()
        z = z.detach() + 0.1  # cause
        return self.dec(z)


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
