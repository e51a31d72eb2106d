"""A gradient penalty whose last part is compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, opt, x
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    x = torch.randn(5, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        xi = x.clone().requires_grad_()
        score = net(xi)
        (g,) = torch.autograd.grad(score.sum(), xi, create_graph=True)
        pen = penalty(g)
        (pen - score.mean()).backward()
        opt.step()


@torch.compile(backend=BACKEND)
def penalty(g):
    return (g.norm(2, dim=1) - 1).pow(2).mean()
