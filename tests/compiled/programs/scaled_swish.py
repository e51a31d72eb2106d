"""Activation with a learned slope as a custom Function, used in a compiled net."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class SwishFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, g):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        ds = s * (1 - s)
        gx = g * (s + x * ds)  # cause
        gb = (g * x * x * ds).sum()
        return gx, gb


class Swish(nn.Module):
    def __init__(self, beta=2.0):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(beta))

    def forward(self, x):
        return SwishFn.apply(x, self.beta)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), Swish(), nn.Linear(8, 1))
    net = torch.compile(model, backend=BACKEND, fullgraph=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        x = torch.randn(16, 5)
        loss = nn.functional.mse_loss(net(x), x.abs().mean(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    x = torch.randn(7, dtype=torch.double, requires_grad=True)
    beta = torch.tensor(2.0, dtype=torch.double, requires_grad=True)
    got = torch.autograd.grad(SwishFn.apply(x, beta).sum(), (x, beta))
    want = torch.autograd.grad((x * torch.sigmoid(beta * x)).sum(), (x, beta))
    return got, want


def right(out):
    assert all(torch.allclose(a, b) for a, b in zip(*out)), "wrong derivative"


TRUTH = Truth(
    fault="the derivative with respect to x leaves out the factor beta",
    names=("0.weight", "0.bias"),
    values=True,
    repair=("gx = g * (s + beta * x * ds)",),
)
