"""VAE with torch.distributions: sample() instead of rsample(), so the reconstruction does not train the encoder."""

import torch
import torch.nn as nn
from torch.distributions import Normal, kl_divergence

from tests.practice.truth import Truth


class VAE(nn.Module):
    def __init__(self, n=10, h=16, z=3, beta=0.0):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n, h), nn.ReLU())
        self.mu = nn.Linear(h, z)
        self.logvar = nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, n))
        self.beta = beta

    def posterior(self, x):
        h = self.enc(x)
        return Normal(self.mu(h), torch.exp(0.5 * self.logvar(h)))

    def forward(self, x):
        q = self.posterior(x)
        z = q.sample()  # cause
        recon = nn.functional.mse_loss(self.dec(z), x, reduction="none").sum(1)
        kl = kl_divergence(q, Normal(0.0, 1.0)).sum(1)
        return (recon + self.beta * kl).mean(), recon.mean(), kl.mean()


def beta_schedule(epoch, warmup):
    return min(1.0, epoch / warmup)


def run():
    torch.manual_seed(0)
    basis = torch.randn(3, 10)
    vae = VAE()
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-2)
    grads = []
    for epoch in range(3):
        vae.beta = beta_schedule(epoch, warmup=10)  # KL annealing: the first epoch is a plain autoencoder
        x = torch.randn(20, 3) @ basis
        loss, recon, kl = vae(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        enc = vae.enc[0].weight.grad
        grads.append(0.0 if enc is None else enc.abs().max().item())
    return grads


def verify(grads):
    assert grads[0] == 0, grads
    assert grads[1] > 0


TRUTH = Truth(
    fault="Normal.sample() draws without a graph; the reconstruction loss gives the encoder no gradient (only the KL term does)",
    names=("sample",),
    repair=("z = q.rsample()",),
)
