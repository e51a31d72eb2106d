"""The first derivative has no graph, so the loss term that is made of it moves nothing."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    u = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(u.parameters(), 1e-3)
    for _ in range(2):
        x = torch.rand(16, 1, requires_grad=True)
        y = u(x)
        (slope,) = torch.autograd.grad(y, x, torch.ones_like(y), retain_graph=True)  # cause
        physics = (slope + y.detach()).pow(2).mean()
        boundary = (u(torch.zeros(1, 1)) - 1).pow(2).mean()
        opt.zero_grad()
        (physics + boundary).backward()
        opt.step()
    return physics.requires_grad


def verify(out):
    assert not out


TRUTH = Truth(
    fault="the physics term has no gradient",
    names=("create_graph",),
    repair=("(slope,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)",),
)
