"""AG301: autograd.grad returns None for a view of what was used in its place."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

DATA = torch.rand(16, 2, generator=torch.Generator().manual_seed(1))


def solved(slope_of):
    u = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(u.parameters(), lr=0.1)
    for _ in range(2):
        points = DATA.clone().requires_grad_()
        y, slope = slope_of(u, points)
        optimizer.zero_grad()
        (y if slope is None else slope + y).pow(2).mean().backward()
        optimizer.step()


def test_column_that_the_network_did_not_see():
    """`allow_unused=True` hides that the column is none of what was differentiated; the whole has a gradient."""

    def column(u, points):
        t = points[:, 1:]  # column
        y = u(points)
        return y, torch.autograd.grad(y.sum(), t, create_graph=True, allow_unused=True)[0]

    def whole(u, points):
        y = u(points)
        return y, torch.autograd.grad(y.sum(), points, create_graph=True, allow_unused=True)[0][:, 1:]

    def made_first(u, points):
        t = points[:, 1:]
        y = u(torch.cat([points[:, :1], t], 1))
        return y, torch.autograd.grad(y.sum(), t, create_graph=True, allow_unused=True)[0]

    diagnosed(lambda: solved(column), "AG301", "# column", "points", "None", severity="warning", where=column)
    calm(lambda: solved(whole), lambda: solved(made_first))


def test_what_may_be_independent():
    """`allow_unused=True` for a tensor of its own, which is no view of anything."""

    def other(u, points):
        y = u(points)
        unused = torch.ones(3, requires_grad=True) * 2
        slope, _ = torch.autograd.grad(y.sum(), (points, unused), create_graph=True, allow_unused=True)
        return y, slope[:, :1]

    calm(lambda: solved(other))
