"""A flow with a learned Gaussian base: the distribution is built once, in the constructor, with its scale's graph."""

import torch
from torch import nn
from torch.distributions import Independent, Normal

from tests.practice.truth import Truth


class PlanarLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.u = nn.Parameter(torch.randn(dim) * 0.1)
        self.w = nn.Parameter(torch.randn(dim) * 0.1)
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, z):
        wu = self.w @ self.u
        u = self.u + (nn.functional.softplus(wu) - 1 - wu) * self.w / (self.w @ self.w)
        h = torch.tanh(z @ self.w + self.b)
        psi = (1 - h**2)[:, None] * self.w
        return z + u * h[:, None], torch.log((1 + psi @ u).abs() + 1e-8)


class PlanarFlow(nn.Module):
    def __init__(self, dim=2, length=3):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(dim))
        self.log_std = nn.Parameter(torch.zeros(dim))
        self.layers = nn.ModuleList(PlanarLayer(dim) for _ in range(length))
        self.base = Independent(Normal(self.loc, self.log_std.exp()), 1)  # cause

    def rsample_with_log_prob(self, n):
        base = self.base  # cause
        z = base.rsample((n,))
        logq = base.log_prob(z)
        for layer in self.layers:
            z, logdet = layer(z)
            logq = logq - logdet
        return z, logq


def log_target(z):
    ring = -0.5 * ((z.norm(dim=1) - 2) / 0.4) ** 2
    return ring + torch.logaddexp(-0.5 * ((z[:, 0] - 2) / 0.6) ** 2, -0.5 * ((z[:, 0] + 2) / 0.6) ** 2)


def run():
    torch.manual_seed(0)
    flow = PlanarFlow()
    opt = torch.optim.RMSprop(flow.parameters(), lr=1e-3, momentum=0.9)
    for step in range(3):
        beta = min(1.0, 0.1 + step / 10)
        z, logq = flow.rsample_with_log_prob(32)
        loss = (logq - beta * log_target(z)).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        print(f"{step} free energy {loss.item():.3f}")
    return flow


TRUTH = Truth(
    fault="the base distribution's graph is made once and used every step",
    raises="Trying to backward through the graph a second time",
    names=("log_std",),
    repair=("pass", "base = Independent(Normal(self.loc, self.log_std.exp()), 1)"),
)
