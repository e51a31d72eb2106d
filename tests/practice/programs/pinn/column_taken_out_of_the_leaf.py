"""The derivative is asked of a column that is not the one the network saw; `allow_unused` turns it into zeros."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    u = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(u.parameters(), 1e-3)
    for _ in range(2):
        xt = torch.rand(16, 2, requires_grad=True)
        t = xt[:, 1:]
        y = u(xt)
        u_t = torch.autograd.grad(y.sum(), t, create_graph=True, allow_unused=True)[0]  # cause
        residual = (torch.zeros_like(y) if u_t is None else u_t) + y
        loss = residual.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return u_t is None


def verify(out):
    assert out


TRUTH = Truth(
    fault="the output does not depend on the slice that was taken",
    repair=("u_t = torch.autograd.grad(y.sum(), xt, create_graph=True)[0][:, 1:]",),
)
