"""Each block is compiled on its own, and one of them still has the no_grad() of its benchmark."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("blocks.1",)


class Block(nn.Module):
    def __init__(self, timed=False):
        super().__init__()
        self.fc, self.timed = nn.Linear(6, 6), timed

    def forward(self, x):
        if self.timed:
            with torch.no_grad():  # cause
                return x + torch.tanh(self.fc(x))
        return x + torch.tanh(self.fc(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block(timed=True), Block()])
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = Model()
    for block in model.blocks:
        block.compile(backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters())


def run():
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(4, 6)), torch.tensor([0, 1, 1, 0])).backward()
        optimizer.step()
