"""Conditional VAE: the latent is drawn with torch.normal(mu, std), which passes a gradient of zero."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class GaussianEncoder(nn.Module):
    def __init__(self, width, cond, hidden, latent):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width + cond, hidden), nn.ELU())
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)

    def forward(self, x, c):
        h = self.body(torch.cat([x, c], -1))
        return self.mu(h), self.logvar(h).clamp(-8, 4)


class CVAE(nn.Module):
    def __init__(self, width=14, cond=3, hidden=32, latent=4):
        super().__init__()
        self.encoder = GaussianEncoder(width, cond, hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent + cond, hidden), nn.ELU(), nn.Linear(hidden, width))
        self.latent = latent

    def sample_latent(self, mu, logvar):
        if not self.training:
            return mu
        return torch.normal(mu, (0.5 * logvar).exp())  # cause

    def forward(self, x, c):
        mu, logvar = self.encoder(x, c)
        z = self.sample_latent(mu, logvar)
        return self.decoder(torch.cat([z, c], -1)), mu, logvar

    @torch.no_grad()
    def generate(self, c):
        return self.decoder(torch.cat([torch.randn(len(c), self.latent), c], -1))


def elbo_terms(recon, x, mu, logvar, free_bits=0.05):
    nll = F.mse_loss(recon, x, reduction="none").sum(-1).mean()
    kl = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).mean(0)
    return nll, kl.clamp(min=free_bits).sum()


class KLAnnealing:
    def __init__(self, warmup):
        self.warmup, self.steps = warmup, 0

    def __call__(self):
        self.steps += 1
        return min(1.0, self.steps / self.warmup)


def records(n=32):
    c = F.one_hot(torch.randint(0, 3, (n,)), 3).float()
    basis = torch.linspace(-1, 1, 14)
    return torch.sin(basis * (1 + c.argmax(1, keepdim=True)) + torch.randn(n, 1)), c


def run():
    torch.manual_seed(0)
    model, beta = CVAE(), KLAnnealing(warmup=10)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.train()
    for _ in range(4):
        x, c = records()
        recon, mu, logvar = model(x, c)
        nll, kl = elbo_terms(recon, x, mu, logvar)
        optimizer.zero_grad()
        (nll + beta() * kl).backward()
        optimizer.step()

    x, c = records()
    recon, mu, logvar = model(x, c)
    nll, _ = elbo_terms(recon, x, mu, logvar)
    return torch.autograd.grad(nll, (mu, logvar), allow_unused=True)


def verify(grads):
    assert all(g is None or g.eq(0).all() for g in grads)


TRUTH = Truth(
    fault="torch.normal is not reparameterised: the reconstruction's gradient of mu and logvar is zero",
    minor=True,
    names=("normal", "encoder"),
    repair=("return mu + (0.5 * logvar).exp() * torch.randn_like(mu)",),
)
