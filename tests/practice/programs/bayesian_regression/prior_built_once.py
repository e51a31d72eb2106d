"""Variational regression: the distributions are built once over the parameters, posterior samples are detached in the monitor; all right."""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from tests.practice.truth import Truth


class HierarchicalPrior(nn.Module):
    """A location that is learned (empirical Bayes) under a fixed scale."""

    def __init__(self, shape):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(shape))
        self.register_buffer("scale", torch.ones(shape))
        # Normal keeps the parameter itself or a view of it; its value is never stale
        self.dist = Normal(self.loc, self.scale)


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Parameter(0.1 * torch.randn(n_out, n_in))
        self.rho = nn.Parameter(torch.full((n_out, n_in), -4.0))
        self.prior = HierarchicalPrior((n_out, n_in))

    def posterior(self):
        return Normal(self.mu, nn.functional.softplus(self.rho))

    def forward(self, x):
        q = self.posterior()
        # the local reparameterisation trick
        mean, var = x @ q.mean.t(), x.pow(2) @ q.variance.t()
        return mean + var.clamp(min=1e-10).sqrt() * torch.randn_like(mean)

    def kl(self):
        return kl_divergence(self.posterior(), self.prior.dist).sum()


class BayesMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([BayesLinear(3, 8), BayesLinear(8, 1)])
        self.log_noise = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        return self.layers[1](torch.tanh(self.layers[0](x))).squeeze(-1)

    def kl(self):
        return sum(layer.kl() for layer in self.layers)


def elbo(model, x, y, n, beta):
    likelihood = Normal(model(x), model.log_noise.exp()).log_prob(y).mean() * n
    return likelihood - beta * model.kl()


@torch.no_grad()
def monitor(model, x, samples=4):
    draws = torch.stack([model(x) for _ in range(samples)])
    return draws.mean(0), draws.std(0)


def run():
    torch.manual_seed(0)
    x = torch.randn(24, 3)
    y = torch.sin(x[:, 0]) + 0.1 * torch.randn(24)
    model = BayesMLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(4):
        rows = torch.randperm(24)[:12]
        loss = -elbo(model, x[rows], y[rows], n=24, beta=min(1.0, (step + 1) / 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        monitor(model, x)
    still = [n for n, p in model.named_parameters() if torch.equal(p, start[n])]
    prior = model.layers[0].prior
    return still, torch.equal(prior.dist.mean, prior.loc)


def verify(outcome):
    still, fresh = outcome
    assert still == [] and fresh, outcome


TRUTH = Truth()
