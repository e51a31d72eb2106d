"""Neural ODE with a hand-written adjoint: the Function never sees the parameters, so they get no gradient."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class OdeAdjoint(torch.autograd.Function):
    """Euler forward without a graph; backward solves the adjoint equation along the stored path."""

    @staticmethod
    def forward(ctx, z0, times, func, *params):
        path = [z0]
        with torch.no_grad():
            for t0, t1 in zip(times[:-1], times[1:]):
                path.append(path[-1] + (t1 - t0) * func(t0, path[-1]))
        ctx.func, ctx.n_params = func, len(params)
        ctx.save_for_backward(times, torch.stack(path), *params)
        return path[-1]

    @staticmethod
    def backward(ctx, grad_out):
        times, path, *params = ctx.saved_tensors
        adjoint = grad_out
        grads = [torch.zeros_like(p) for p in params]
        for i in reversed(range(len(times) - 1)):
            dt = times[i + 1] - times[i]
            with torch.enable_grad():
                z = path[i].detach().requires_grad_()
                f = ctx.func(times[i], z)
                got = torch.autograd.grad(f, (z, *params), adjoint * dt, allow_unused=True)
            adjoint = adjoint + got[0]
            grads = [a if g is None else a + g for a, g in zip(grads, got[1:])]
        return (adjoint, None, None, *grads)


class Dynamics(nn.Module):
    def __init__(self, dim=4, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, hidden), nn.Tanh(), nn.Linear(hidden, dim))

    def forward(self, t, z):
        return self.net(torch.cat([z, t.expand(z.size(0), 1)], dim=-1))


class NeuralODE(nn.Module):
    def __init__(self, in_dim=6, dim=4, steps=5):
        super().__init__()
        self.encoder = nn.Linear(in_dim, dim)
        self.dynamics = Dynamics(dim)
        self.decoder = nn.Linear(dim, 1)
        self.register_buffer("times", torch.linspace(0, 1, steps + 1))

    def forward(self, x):
        z1 = OdeAdjoint.apply(self.encoder(x), self.times, self.dynamics)  # cause
        return self.decoder(z1).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = NeuralODE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    losses = []
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = F.mse_loss(model(x), x[:, 0] * x[:, 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {name: torch.equal(start[name], p) for name, p in model.named_parameters()}


def verify(still):
    assert all(frozen == name.startswith("dynamics.") for name, frozen in still.items())


TRUTH = Truth(
    fault="the parameters of the dynamics are not inputs of the Function, so its backward cannot reach them",
    names=("dynamics",),
    repair=("z1 = OdeAdjoint.apply(self.encoder(x), self.times, self.dynamics, *self.dynamics.parameters())",),
)
