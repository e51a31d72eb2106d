"""Neural ODE with a discrete adjoint written as an autograd function."""

import torch
from torch import nn

from tests.practice.truth import Truth


def rk2_step(func, t, y, dt):
    k1 = func(t, y)
    return y + dt * func(t + dt / 2, y + dt / 2 * k1)


class AdjointSolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, ts, *params):
        ys = [y0]
        for a, b in zip(ts[:-1], ts[1:]):
            ys.append(rk2_step(func, a, ys[-1], b - a))
        ctx.func, ctx.ts = func, ts
        ctx.save_for_backward(*ys)
        return ys[-1].clone()

    @staticmethod
    def backward(ctx, grad_y):
        func, ts, ys = ctx.func, ctx.ts, ctx.saved_tensors
        params = tuple(func.parameters())
        totals = [torch.zeros_like(p) for p in params]
        for i in reversed(range(len(ts) - 1)):
            y = ys[i].detach().requires_grad_(True)
            nxt = rk2_step(func, ts[i], y, ts[i + 1] - ts[i])  # cause
            grads = torch.autograd.grad(nxt, (y, *params), grad_y, allow_unused=True)  # also
            grad_y = grads[0]
            totals = [t if g is None else t + g for t, g in zip(totals, grads[1:])]
        return (None, grad_y, None, *totals)


class Dynamics(nn.Module):
    def __init__(self, dim, width=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, width), nn.Tanh(), nn.Linear(width, dim))

    def forward(self, t, y):
        return self.net(torch.cat([y, t.expand(len(y), 1)], -1))


def run():
    torch.manual_seed(0)
    f, ts = Dynamics(2), torch.linspace(0, 1, 6)
    opt = torch.optim.Adam(f.parameters(), lr=0.02)
    y0 = torch.randn(16, 2)
    goal = y0 @ torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    losses = []
    for _ in range(6):
        loss = (AdjointSolve.apply(f, y0, ts, *f.parameters()) - goal).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="the step is recomputed in backward without enabling gradients",
    raises="element 0 of tensors does not require grad",
    names=("enable_grad",),
    repair=("with torch.enable_grad():\n    nxt = rk2_step(func, ts[i], y, ts[i + 1] - ts[i])",),
)


def well(out):
    assert out[-1] < out[0]
