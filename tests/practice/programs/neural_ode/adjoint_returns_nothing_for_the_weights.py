"""The adjoint's backward computes the gradient of the weights and returns None in its place."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y, f, *weights):
        ctx.f = f
        ctx.save_for_backward(y)
        with torch.no_grad():
            return y + f(y)

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        weights = tuple(ctx.f.parameters())
        with torch.enable_grad():
            y = y.detach().requires_grad_()
            out = y + ctx.f(y)
        dy, *dw = torch.autograd.grad(out, (y, *weights), grad)
        return dy, None, *(None for _ in dw)  # cause


def run():
    torch.manual_seed(0)
    enc, f = nn.Linear(2, 3), nn.Linear(3, 3)
    opt = torch.optim.Adam([*enc.parameters(), *f.parameters()], 1e-2)
    before = f.weight.detach().clone()
    for _ in range(2):
        loss = Adjoint.apply(enc(torch.randn(8, 2)), f, *f.parameters()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return torch.equal(before, f.weight)


def verify(out):
    assert out


TRUTH = Truth(fault="the Function returns None for the weights", names=("Adjoint",), repair=("return dy, None, *dw",))
