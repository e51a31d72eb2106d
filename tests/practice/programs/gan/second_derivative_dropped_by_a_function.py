"""A hand-written activation computes its gradient from `.data`: the gradient penalty loses its second derivative."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * grad  # cause


def run():
    torch.manual_seed(0)
    D = nn.Linear(3, 8)
    opt = torch.optim.Adam(D.parameters(), 1e-3)
    x = torch.randn(8, 3, requires_grad=True)
    for _ in range(2):
        slope = torch.autograd.grad(Square.apply(D(x)).sum(), x, create_graph=True)[0]
        penalty = slope.pow(2).sum(1).mean()
        opt.zero_grad()
        penalty.backward()
        opt.step()
    right = torch.autograd.grad(
        torch.autograd.grad(D(x).pow(2).sum(), x, create_graph=True)[0].pow(2).sum(1).mean(), D.weight
    )[0]
    slope = torch.autograd.grad(Square.apply(D(x)).sum(), x, create_graph=True)[0]
    return torch.allclose(torch.autograd.grad(slope.pow(2).sum(1).mean(), D.weight)[0], right, atol=1e-4)


def verify(out):
    assert not out


TRUTH = Truth(
    fault="the derivative of the gradient is cut inside a backward",
    names=("Square",),
    repair=("return 2 * x * grad",),
)
