"""A neural ODE whose Function integrates without a graph and finds all gradients backwards in time."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Dynamics(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, dim))
        self.nfe = 0

    def forward(self, t, z):
        self.nfe += 1
        return self.net(z) * torch.cos(t)


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z0, t, func, *params):
        with torch.no_grad():
            z = z0
            for i in range(len(t) - 1):
                z = z + (t[i + 1] - t[i]) * func(t[i], z)
        ctx.func = func
        ctx.save_for_backward(t, z, *params)
        return z

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, a):
        t, z, *params = ctx.saved_tensors
        grads = [torch.zeros_like(p) for p in params]
        for i in range(len(t) - 2, -1, -1):
            h = t[i + 1] - t[i]
            with torch.enable_grad():
                zi = z.detach().requires_grad_(True)
                f = ctx.func(t[i + 1], zi)
            vjp = torch.autograd.grad(f, [zi, *params], a, allow_unused=True)
            z = z - h * f.detach()
            a = a + h * vjp[0]
            for g, v in zip(grads, vjp[1:]):
                g += h * v
        return a, None, None, *grads


class ODEBlock(nn.Module):
    def __init__(self, func, steps=8):
        super().__init__()
        self.func = func
        self.register_buffer("t", torch.linspace(0, 1, steps + 1))

    def forward(self, z):
        return Adjoint.apply(z, self.t, self.func, *self.func.parameters())


def run():
    torch.manual_seed(0)
    func = Dynamics(4)
    model = nn.Sequential(nn.Linear(3, 4), ODEBlock(func), nn.Linear(4, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses, evaluations = [], []
    for _ in range(3):
        x = torch.randn(16, 3)
        y = (x.sum(1) > 0).long()
        func.nfe = 0
        loss = nn.functional.cross_entropy(model(x), y)
        forward_nfe, func.nfe = func.nfe, 0
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        evaluations.append((forward_nfe, func.nfe))
        losses.append(loss.item())
    return model, losses, evaluations


TRUTH = Truth()


def verify(out):
    model, losses, evaluations = out
    assert evaluations == [(8, 8)] * 3 and all(0 < loss < 100 for loss in losses)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
