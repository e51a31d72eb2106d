"""Adjoint method: `func`'s parameters are not among the inputs of the Function, so the dynamics never learn."""

import torch
from torch import nn

from tests.practice.truth import Truth


def rk4_step(func, t, dt, z):
    k1 = func(t, z)
    k2 = func(t + dt / 2, z + dt * k1 / 2)
    k3 = func(t + dt / 2, z + dt * k2 / 2)
    k4 = func(t + dt, z + dt * k3)
    return z + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


class OdeintAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, z0, ts):
        ctx.func = func
        z = z0
        for t0, t1 in zip(ts[:-1], ts[1:]):
            z = rk4_step(func, t0, t1 - t0, z)
        ctx.save_for_backward(z, ts)
        return z

    @staticmethod
    def backward(ctx, grad_z):
        z, ts = ctx.saved_tensors
        a = grad_z
        for t1, t0 in zip(reversed(ts[1:]), reversed(ts[:-1])):
            with torch.enable_grad():
                z_ = z.detach().requires_grad_(True)
                f = ctx.func(t1, z_)
                (vjp,) = torch.autograd.grad(f, z_, a)
            a = a + (t1 - t0) * vjp
            z = z - (t1 - t0) * f.detach()
        return None, a, None  # also


class Dynamics(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, t, z):
        return self.net(torch.cat([z, t.expand(len(z), 1)], dim=1))


class ODEClassifier(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.encoder = nn.Linear(2, dim)
        self.odefunc = Dynamics(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        z0 = self.encoder(x)
        z1 = OdeintAdjoint.apply(self.odefunc, z0, torch.linspace(0, 1, 6))  # cause
        return self.head(z1)


def run():
    torch.manual_seed(0)
    model = ODEClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        x = torch.randn(32, 2)
        y = (x.norm(dim=1) > 1.2).long()
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            acc = (model(x).argmax(1) == y).float().mean()
        print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.2f}")
    return model


def verify(out):
    assert all(p.grad is None for p in out.odefunc.parameters())


TRUTH = Truth(
    fault="the adjoint returns no gradient for the dynamics' parameters",
    names=("odefunc",),
    repair=(
        "z1 = z0\nts = torch.linspace(0, 1, 6)\nfor t0, t1 in zip(ts[:-1], ts[1:]):\n"
        "    z1 = rk4_step(self.odefunc, t0, t1 - t0, z1)",
    ),
)
