"""A compiled score, a gradient by torch.func.grad of an energy, is detached before it is matched."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("energy",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        score = torch.vmap(torch.func.grad(lambda row: self.energy(row).squeeze()))(x)
        score = score.detach()  # cause
        return (score * self.scale + x).pow(2).mean()


def setup():
    global model, optimizer
    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(5, 3)).backward()
        optimizer.step()
