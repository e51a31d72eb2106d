"""FFJORD: the state is detached inside the ODE function to take the divergence, so no gradient passes from step to step."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class ConcatSquash(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.layer, self.gate, self.bias = nn.Linear(n_in, n_out), nn.Linear(1, n_out), nn.Linear(1, n_out, bias=False)

    def forward(self, t, x):
        t = t.view(1, 1)
        return self.layer(x) * torch.sigmoid(self.gate(t)) + self.bias(t)


class ODEnet(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.l1, self.l2 = ConcatSquash(dim, hidden), ConcatSquash(hidden, dim)

    def forward(self, t, y):
        return self.l2(t, torch.tanh(self.l1(t, y)))


class ODEfunc(nn.Module):
    """dy/dt, and the Hutchinson estimate of its trace."""

    def __init__(self, diffeq):
        super().__init__()
        self.diffeq = diffeq
        self._e = None

    def before_odeint(self):
        self._e = None

    def forward(self, t, states):
        y = states[0]
        if self._e is None:
            self._e = torch.randn_like(y)
        with torch.enable_grad():
            y = y.detach().requires_grad_(True)  # cause
            dy = self.diffeq(t, y)
            (e_dzdx,) = torch.autograd.grad(dy, y, self._e, create_graph=True)
            divergence = (e_dzdx * self._e).flatten(1).sum(1, keepdim=True)
        return dy, -divergence


def odeint_rk2(func, states, t0, t1, steps):
    h = (t1 - t0) / steps
    for i in range(steps):
        t = torch.tensor(t0 + i * h)
        k1 = func(t, states)
        mid = tuple(s + 0.5 * h * k for s, k in zip(states, k1))
        k2 = func(t + 0.5 * h, mid)
        states = tuple(s + h * k for s, k in zip(states, k2))
    return states


class CNF(nn.Module):
    def __init__(self, dim=2, hidden=12, T=1.0, steps=3):
        super().__init__()
        self.embed = nn.Linear(dim, dim)  # a learned linear map before the flow
        nn.init.eye_(self.embed.weight)
        self.odefunc, self.T, self.steps = ODEfunc(ODEnet(dim, hidden)), T, steps

    def log_prob(self, x):
        self.odefunc.before_odeint()
        y = self.embed(x)
        logdet = torch.linalg.slogdet(self.embed.weight)[1]
        z, delta = odeint_rk2(self.odefunc, (y, torch.zeros(len(x), 1)), 0.0, self.T, self.steps)
        logpz = (-0.5 * math.log(2 * math.pi) - z.pow(2) / 2).sum(1, keepdim=True)
        return logpz - delta + logdet, delta


def run():
    torch.manual_seed(0)
    model = CNF()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    reaches = []
    for _ in range(3):
        logpx, delta = model.log_prob(torch.randn(16, 2) * 0.5 + 1)
        (grad,) = torch.autograd.grad(delta.sum(), model.embed.weight, retain_graph=True, allow_unused=True)
        reaches.append(grad is not None)
        loss = -logpx.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reaches


def verify(outcome):
    assert not any(outcome), outcome


TRUTH = Truth(
    fault="y.detach() inside the ODE function cuts the chain: neither dy nor the divergence depends on earlier states",
    names=("detach", "y"),
    minor=True,
    repair=("y = y if y.requires_grad else y.requires_grad_(True)",),
)
