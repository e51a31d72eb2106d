"""A trace estimate by jvp and vmap with detached probes, compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x, v):
        out, push = torch.func.jvp(self.net, (x,), (v,))
        with torch.no_grad():
            size = torch.vmap(lambda row: row.norm())(out).mean()
        return out.pow(2).mean() - (push * v).sum(1).mean() / (1 + size)


def setup():
    global model, optimizer
    model = torch.compile(Flow(), backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters())


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(6, 3), torch.randn(6, 3)).backward()
        optimizer.step()
