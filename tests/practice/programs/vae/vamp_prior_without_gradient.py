"""VampPrior: the mixture's pseudo-inputs are encoded under no_grad, so they stay where they started."""

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
        self.pseudo_inputs = nn.Parameter(torch.rand(components, dim))

    def encode(self, x):
        h = self.body(x)
        return self.mu(h), self.logvar(h).clamp(-6, 6)

    def log_prior(self, z):
        with torch.no_grad():  # cause
            mu, logvar = self.encode(self.pseudo_inputs.clamp(0, 1))  # also
        parts = log_normal(z.unsqueeze(1), mu.unsqueeze(0), logvar.unsqueeze(0))
        return torch.logsumexp(parts, 1) - math.log(len(self.pseudo_inputs))

    def elbo(self, x, beta=1.0):
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        likelihood = -F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="none").sum(-1)
        return (likelihood + beta * (self.log_prior(z) - log_normal(z, mu, logvar))).mean()


def run(epochs=2):
    torch.manual_seed(0)
    vae, data = VampVAE(), torch.rand(32, 12).round()
    start = vae.pseudo_inputs.detach().clone()
    optimizer = torch.optim.Adamax(vae.parameters(), lr=2e-3)
    for epoch in range(epochs):
        for batch in data.split(16):
            loss = -vae.elbo(batch, beta=min(1.0, (epoch + 1) / epochs))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return vae, start


def verify(out):
    vae, start = out
    assert torch.equal(vae.pseudo_inputs, start)


TRUTH = Truth(
    fault="the prior's pseudo-inputs get no gradient",
    names=("pseudo_inputs",),
    repair=("if True:",),
)
