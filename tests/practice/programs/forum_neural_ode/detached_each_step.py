"""Learned dynamics rolled out over time: the state is detached at every step 'to save memory', so the parameters of the encoder get no gradient from later steps."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class Dynamics(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, z):
        return self.f(z)


class LatentODE(nn.Module):
    def __init__(self, n_obs=2, dim=4, dt=0.1):
        super().__init__()
        self.dt = dt
        self.encode = nn.Linear(n_obs, dim)
        self.dynamics = Dynamics(dim)
        self.decode = nn.Linear(dim, n_obs)

    def rollout(self, z, n_steps):
        zs = []
        for _ in range(n_steps):
            k1 = self.dynamics(z)
            k2 = self.dynamics(z + 0.5 * self.dt * k1)
            zs.append(z + self.dt * k2)
            z = zs[-1].detach()  # cause
        return torch.stack(zs, 1)

    def forward(self, x0, n_steps):
        return self.decode(self.rollout(self.encode(x0), n_steps))


def pendulum(n, steps, dt=0.1):
    th, om = torch.rand(n) * 2 - 1, torch.zeros(n)
    path = [torch.stack([th, om], 1)]
    for _ in range(steps):
        om = om - dt * th.sin()
        th = th + dt * om
        path.append(torch.stack([th, om], 1))
    path = torch.stack(path, 1)
    return path[:, 0], path[:, 1:]


def run():
    torch.manual_seed(0)
    model = LatentODE()
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-2)
    grads = []
    for it in range(3):
        x0, path = pendulum(8, 6)
        err = (model(x0, 6) - path).pow(2).mean((0, 2))
        # what the last point alone says to the encoder
        (g,) = torch.autograd.grad(err[-1], model.encode.weight, retain_graph=True, allow_unused=True)
        grads.append(g)
        optimizer.zero_grad()
        err.mean().backward()
        optimizer.step()
    return grads, model.encode.weight.grad


def verify(outcome):
    grads, total = outcome
    assert all(g is None or not g.any() for g in grads)
    assert total.abs().sum() > 0


TRUTH = Truth(
    fault="the state is detached after every step of the rollout, so no error goes back further than one step",
    names=("detach",),
    repair=("z = zs[-1]",),
)
