"""The cut itself lies under vmap() in compiled code."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101 AG301"
NAMES = ("scorer",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scorer, self.head = nn.Linear(4, 1), nn.Linear(4, 1)

    def weight(self, row):
        return torch.sigmoid(self.scorer(row).detach()).squeeze()  # cause

    def forward(self, x):
        return (torch.vmap(self.weight)(x) * self.head(x).squeeze(1).pow(2)).mean()


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(5, 4)).backward()
        optimizer.step()
