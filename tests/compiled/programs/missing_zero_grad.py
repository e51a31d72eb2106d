"""Gradients pile up around compiled forward steps."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG305"
NAMES = ()


def setup():
    global model, optimizer
    model = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(4):
        loss = model(torch.randn(3, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()  # cause
