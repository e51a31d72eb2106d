"""What the compiled model returned was saved by the loss, and is scaled in place for the log."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201"
NAMES = ("mul_",)
RAISES = "modified by an inplace operation"


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    out = model(torch.randn(3, 4))
    loss = (out * out).sum()
    out.mul_(100)  # cause
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
