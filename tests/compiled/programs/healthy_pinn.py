"""A physics-informed loss by vmap of grad, compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Pinn(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, t):
        u = torch.vmap(lambda s: self.net(s).squeeze())(t)
        slope = torch.vmap(torch.func.grad(lambda s: self.net(s).squeeze()))(t)
        return (slope.squeeze(1) + u).pow(2).mean()


def setup():
    global model, optimizer
    model = torch.compile(Pinn(), backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters())


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.rand(6, 1)).backward()
        optimizer.step()
