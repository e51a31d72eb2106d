"""A compiled model's weights are stepped between its forward and its backward."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201"
NAMES = ("step",)
RAISES = "one of the variables needed for gradient computation"


def setup():
    global model, optimizer
    model = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    first, second = model(torch.randn(3, 4)).mean(), model(torch.randn(3, 4)).pow(2).mean()
    optimizer.zero_grad()
    first.backward()
    optimizer.step()  # cause
    second.backward()
