"""Each batch has another size and dynamic shapes are off: Dynamo compiles until its limit, and then gives up."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)), backend=BACKEND, dynamic=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    losses = []
    for size in range(2, 14):
        optimizer.zero_grad()
        loss = model(torch.randn(size, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
