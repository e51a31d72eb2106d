"""A compiled ensemble through vmap detaches the stacked outputs of the shared encoder beforehand."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("encoder",)


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 6)
        self.weights = nn.Parameter(torch.randn(3, 6, 2))

    def forward(self, x):
        h = torch.relu(self.encoder(x)).detach()  # cause
        return torch.func.vmap(lambda w: h @ w)(self.weights).mean(0)


def setup():
    global model, optimizer
    model = torch.compile(Ensemble(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(5, 4)), torch.randint(0, 2, (5,))).backward()
        optimizer.step()
