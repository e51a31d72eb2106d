"""Sticking-the-landing ELBO: log q is evaluated with a detached copy of the variational parameters, on purpose."""

import math
import torch
from torch import nn
from tests.practice.truth import Truth


class MeanField(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.full((dim,), -1.0))

    def rsample(self, n):
        return self.loc + self.log_scale.exp() * torch.randn(n, self.loc.numel())

    def frozen_log_prob(self, z):
        loc, log_scale = self.loc.detach(), self.log_scale.detach()
        return (-0.5 * ((z - loc) / log_scale.exp()) ** 2 - log_scale - 0.5 * math.log(2 * math.pi)).sum(-1)


class Target:
    mean = torch.tensor([1.0, -2.0, 0.5])
    scale = torch.tensor([0.3, 1.0, 2.0])

    @classmethod
    def log_prob(cls, z):
        return torch.distributions.Normal(cls.mean, cls.scale).log_prob(z).sum(-1)


def loss_fn(q, n):
    z = q.rsample(n)
    return (q.frozen_log_prob(z) - Target.log_prob(z)).mean()


def run():
    torch.manual_seed(0)
    q = MeanField(3)
    opt = torch.optim.Adam(q.parameters(), lr=0.05)
    checks = []
    for step in range(4):
        state = torch.get_rng_state()
        opt.zero_grad()
        loss_fn(q, 64).backward()
        torch.set_rng_state(state)
        eps = torch.randn(64, 3)
        with torch.no_grad():  # path derivative by hand: d/dz (log q - log p)
            z = q.loc + q.log_scale.exp() * eps
            path = (-(z - q.loc) / q.log_scale.exp() ** 2 + (z - Target.mean) / Target.scale**2) / 64
            checks.append(
                (q.loc.grad.clone(), path.sum(0), q.log_scale.grad.clone(), (path * eps * q.log_scale.exp()).sum(0))
            )
        opt.step()
    with torch.no_grad():  # at the optimum the estimator is exactly zero
        q.loc.copy_(Target.mean)
        q.log_scale.copy_(Target.scale.log())
    opt.zero_grad()
    loss_fn(q, 8).backward()
    return checks, q.loc.grad.clone(), q.log_scale.grad.clone()


def verify(outcome):
    checks, at_loc, at_scale = outcome
    for a, b, c, d in checks:
        assert torch.allclose(a, b, atol=1e-4) and torch.allclose(c, d, atol=1e-4)
        assert a.abs().max() > 0.1
    assert at_loc.abs().max() < 1e-4 and at_scale.abs().max() < 1e-4


TRUTH = Truth()
