"""VampPrior with pseudo-inputs that learn, a warm-up of the divergence and importance-weighted evaluation."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def log_normal(z, mu, logvar):
    return -0.5 * (logvar + (z - mu) ** 2 / logvar.exp() + math.log(2 * math.pi)).sum(-1)


class VampVAE(nn.Module):
    def __init__(self, dim=12, latent=3, components=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 24), nn.GELU())
        self.mu, self.logvar = nn.Linear(24, latent), nn.Linear(24, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 24), nn.GELU(), nn.Linear(24, dim))
        self.means = nn.Linear(components, dim, bias=False)
        nn.init.normal_(self.means.weight, 0.5, 0.01)
        self.register_buffer("idle", torch.eye(components))

    def encode(self, x):
        h = self.body(x)
        return self.mu(h), F.hardtanh(self.logvar(h), -6, 2)

    def log_prior(self, z):
        mu, logvar = self.encode(F.hardtanh(self.means(self.idle), 0, 1))
        parts = log_normal(z.unsqueeze(-2), mu, logvar)
        return torch.logsumexp(parts, -1) - math.log(len(self.idle))

    def terms(self, x, samples=1):
        mu, logvar = self.encode(x)
        z = mu + torch.randn(samples, *mu.shape) * (0.5 * logvar).exp()
        logits = self.decoder(z)
        likelihood = -F.binary_cross_entropy_with_logits(logits, x.expand_as(logits), reduction="none").sum(-1)
        return likelihood, self.log_prior(z) - log_normal(z, mu, logvar)


def train_epoch(vae, optimizer, data, beta):
    vae.train()
    for batch in data.split(16):
        likelihood, divergence = vae.terms(batch)
        loss = -(likelihood + beta * divergence).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(vae, data, samples=8):
    vae.eval()
    likelihood, divergence = vae.terms(data, samples)
    return (torch.logsumexp(likelihood + divergence, 0) - math.log(samples)).mean().item()


def run(epochs=3):
    torch.manual_seed(0)
    vae, data = VampVAE(), torch.rand(32, 12).round()
    start = vae.means.weight.detach().clone()
    optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
    bounds = []
    for epoch in range(epochs):
        train_epoch(vae, optimizer, data, min(1.0, epoch / 2))
        bounds.append(evaluate(vae, data))
    return vae.means.weight, start, bounds


TRUTH = Truth()


def verify(out):
    assert not torch.equal(out[0], out[1])
