"""Bayes by Backprop, then SWAG moments: divergences are recomputed at each pass, snapshots are copies."""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

from tests.practice.truth import Truth


class BayesLinear(nn.Module):
    def __init__(self, din, dout):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(dout, din) * 0.2)
        self.rho = nn.Parameter(torch.full((dout, din), -4.0))
        self.bias = nn.Parameter(torch.zeros(dout))
        self.register_buffer("zero", torch.zeros(()))
        self.register_buffer("one", torch.ones(()))

    def forward(self, x):
        posterior = Normal(self.mu, F.softplus(self.rho))
        self.kl = kl_divergence(posterior, Normal(self.zero, self.one)).sum()
        return F.linear(x, posterior.rsample(), self.bias)


def train(model, layers, x, y, beta):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for batch, target in zip(x.split(12), y.split(12)):
        opt.zero_grad()
        losses = torch.stack([F.cross_entropy(model(batch), target) for _ in range(2)])
        loss = losses.mean() + beta * sum(layer.kl for layer in layers)
        loss.backward()
        opt.step()


@torch.no_grad()
def moments(model, count, mean, square):
    for p, m, s in zip(model.parameters(), mean, square):
        m.mul_(count / (count + 1)).add_(p / (count + 1))
        s.mul_(count / (count + 1)).add_(p**2 / (count + 1))


def run():
    torch.manual_seed(0)
    layers = [BayesLinear(4, 12), BayesLinear(12, 3)]
    model = nn.Sequential(layers[0], nn.Tanh(), layers[1])
    x, y = torch.randn(36, 4), torch.randint(3, (36,))
    mean = [torch.zeros_like(p) for p in model.parameters()]
    square = [torch.zeros_like(p) for p in model.parameters()]
    for epoch in range(3):
        train(model, layers, x, y, beta=1 / 36)
        moments(model, epoch, mean, square)
    with torch.no_grad():
        for p, m, s in zip(model.parameters(), mean, square):
            p.copy_(m + (s - m**2).clamp_min(0).sqrt() * torch.randn_like(m))
        probs = torch.stack([model(x).softmax(-1) for _ in range(4)])
    return probs.mean(0), probs.var(0)


TRUTH = Truth()
