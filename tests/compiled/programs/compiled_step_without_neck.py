"""The compiled step updates what the optimizer holds, and the neck was forgotten."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG404"
NAMES = ("neck",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.neck, self.head = nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.head(torch.relu(self.neck(torch.relu(self.body(x)))))


def setup():
    global model, optimizer, step
    torch.manual_seed(0)
    model = Model()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.Adam([*model.body.parameters(), *model.head.parameters()])
    step = torch.compile(optimizer.step, backend=BACKEND)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(3, 4)), torch.tensor([0, 1, 1])).backward()
        step()
