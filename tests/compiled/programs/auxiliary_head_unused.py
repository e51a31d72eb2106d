"""The compiled model computes an auxiliary output that no loss uses."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG301"
NAMES = ("auxiliary",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.auxiliary = nn.Linear(4, 6), nn.Linear(6, 2), nn.Linear(6, 3)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return {"logits": self.head(h), "aux": self.auxiliary(h)}


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND, fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(3, 4))["logits"], torch.tensor([0, 1, 1])).backward()
        optimizer.step()
