"""The norm of a difference that is zero: its derivative in the compiled backward is NaN."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG304"
NAMES = ("fc",)
VALUES = True


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, a, b):
        gap = self.fc(a) - self.fc(b)
        return (gap * gap).sum(1).sqrt().mean()  # cause


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    x = torch.randn(3, 4)
    for _ in range(2):
        optimizer.zero_grad()
        model(x, torch.cat([x[:1], torch.randn(2, 4)])).backward()
        optimizer.step()
