"""Planar flows as a posterior: the condition on u is a function of w, and samples for the plot come from no graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Planar(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Parameter(torch.randn(1, dim) * 0.5)
        self.b = nn.Parameter(torch.zeros(1))
        self.u = nn.Parameter(torch.randn(1, dim) * 0.5)

    def forward(self, z):
        inner = (self.w * self.u).sum()
        u = self.u + (F.softplus(inner) - 1 - inner) * self.w / self.w.pow(2).sum()
        act = torch.tanh(z @ self.w.t() + self.b)
        psi = (1 - act.pow(2)) * self.w
        return z + u * act, torch.log((1 + psi @ u.t()).abs() + 1e-7).squeeze(1)


def log_target(z):
    ring = 0.5 * ((z.norm(dim=1) - 2) / 0.4) ** 2
    modes = torch.exp(-0.5 * ((z[:, 0] - 2) / 0.6) ** 2) + torch.exp(-0.5 * ((z[:, 0] + 2) / 0.6) ** 2)
    return torch.log(modes + 1e-8) - ring


class PlanarFlow(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.loc, self.log_scale = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
        self.layers = nn.ModuleList(Planar(2) for _ in range(n))

    def forward(self, n):
        base = torch.distributions.Normal(self.loc, self.log_scale.exp())
        z = base.rsample((n,))
        logq = base.log_prob(z).sum(1)
        for layer in self.layers:
            z, logdet = layer(z)
            logq = logq - logdet
        return z, logq


def run():
    torch.manual_seed(0)
    flow = PlanarFlow(3)
    optimizer = torch.optim.RMSprop(flow.parameters(), lr=5e-3, momentum=0.9)
    losses, plots = [], []
    for it in range(4):
        z, logq = flow(64)
        anneal = min(1.0, 0.1 + it / 4)
        loss = (logq - anneal * log_target(z)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        plots.append(flow(16)[0].data.numpy())
    return flow, losses, plots


TRUTH = Truth()


def verify(out):
    flow, losses, plots = out
    assert all(p.grad.abs().sum() > 0 for p in flow.parameters())
    assert all(abs(loss) < 1e3 for loss in losses) and plots[0].shape == (16, 2)
