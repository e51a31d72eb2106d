"""The derivative along a direction, by jvp() in compiled code, is kept small."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, optimizer
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    class Smooth(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x, v):
            y, slope = torch.func.jvp(self.net, (x,), (v,))
            return y.pow(2).mean() + slope.pow(2).mean()

    model = torch.compile(Smooth(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(5, 4), torch.randn(5, 4)).backward()
        optimizer.step()
