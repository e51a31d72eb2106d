"""A compiled loss subtracts a row from a column: it compares each prediction with all targets."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG307"
NAMES = ("mse_loss",)


def setup():
    global model, loss_of, optimizer
    torch.manual_seed(0)
    model = nn.Linear(4, 1)

    @torch.compile(backend=BACKEND)
    def loss_of(x, y):
        return F.mse_loss(model(x), y)  # cause

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(torch.randn(6, 4), torch.randn(6)).backward()
        optimizer.step()
