"""A coefficient field is interpolated by NumPy at points that the network predicts."""

import numpy as np
import torch
from torch import nn

GRID = np.linspace(-2.0, 2.0, 41)
FIELD = np.sin(GRID)

from tests.practice.truth import Truth


def conductivity(u):
    return torch.as_tensor(np.interp(u.detach().numpy(), GRID, FIELD), dtype=torch.float32)  # cause


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        u = net(x)
        (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        flux = (1.5 + conductivity(u)) * du
        residual = flux - 1.0
        loss = residual.pow(2).mean() + net(torch.zeros(1, 1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return conductivity(u)


def verify(k):
    assert not k.requires_grad


TRUTH = Truth(
    fault="the dependence of the coefficient on the solution has no gradient",
    names=("numpy",),
    repair=("return torch.sin(u)",),
)
