"""Within a compiled vmap over members, each member detaches its own hidden layer."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("first",)


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(3, 4, 6) * 0.3)
        self.second = nn.Parameter(torch.randn(3, 6, 2) * 0.3)

    def forward(self, x):
        def member(a, b):
            hidden = torch.tanh(x @ a)
            return hidden.detach() @ b  # cause

        return torch.vmap(member)(self.first, self.second).mean(0)


def setup():
    global model, optimizer
    model = torch.compile(Ensemble(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(5, 4)), torch.randint(0, 2, (5,))).backward()
        optimizer.step()
