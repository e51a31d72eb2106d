"""Two loss terms are read as numbers in a compiled loss and put together again."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ("fc",)


def setup():
    global model, total, optimizer
    torch.manual_seed(0)
    model = nn.Sequential()
    model.fc = nn.Linear(4, 2)

    @torch.compile(backend=BACKEND)
    def total(out, y):
        ce = F.cross_entropy(out, y)
        size = out.pow(2).mean()
        return torch.tensor(ce.item() + 0.1 * size.item(), requires_grad=True)  # cause

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        total(model(torch.randn(3, 4)), torch.tensor([0, 1, 0])).backward()
        optimizer.step()
