"""Scores of each sample under vmap() in compiled code are detached before they weigh the loss."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("scorer",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scorer, self.head = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        weights = torch.vmap(lambda row: torch.sigmoid(self.scorer(row)).squeeze())(x)
        weights = weights.detach()  # cause
        return (weights * self.head(x).squeeze(1).pow(2)).mean()


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
