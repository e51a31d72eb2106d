"""WGAN-GP: without `create_graph=True` the penalty is a constant for the critic."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    D = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 1))
    opt = torch.optim.Adam(D.parameters(), 1e-3)
    for _ in range(2):
        real, fake = torch.randn(8, 3), torch.randn(8, 3)
        t = torch.rand(8, 1)
        mixed = (t * real + (1 - t) * fake).requires_grad_()
        slope = torch.autograd.grad(D(mixed).sum(), mixed)[0]  # cause
        penalty = (slope.norm(dim=1) - 1).pow(2).mean()
        loss = D(fake).mean() - D(real).mean() + 10 * penalty
        opt.zero_grad()
        loss.backward()
        opt.step()
    return penalty.requires_grad


def verify(out):
    assert not out


TRUTH = Truth(
    fault="the gradient penalty has no gradient",
    names=("create_graph",),
    repair=("slope = torch.autograd.grad(D(mixed).sum(), mixed, create_graph=True)[0]",),
)
