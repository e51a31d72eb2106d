"""Micro-batch losses of a compiled model are summed as numbers, and backward is called on a tensor of the sum."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ("total", "model")


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    optimizer.zero_grad()
    total = 0.0
    for _ in range(3):
        x = torch.randn(5, 4)
        total += F.mse_loss(model(x), x.sum(1, keepdim=True)).item() / 3  # cause
    torch.tensor(total, requires_grad=True).backward()
    optimizer.step()
