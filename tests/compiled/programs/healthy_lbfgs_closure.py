"""LBFGS calls a closure whose loss is compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, optimizer, loss_of
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3, line_search_fn="strong_wolfe")

    @torch.compile(backend=BACKEND)
    def loss_of(x, y):
        return (net(x) - y).pow(2).mean() + 1e-4 * sum(p.pow(2).sum() for p in net.parameters())


def run():
    x = torch.randn(9, 2)
    y = x.prod(1, keepdim=True)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
