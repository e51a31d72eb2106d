"""VAE with free bits: the KL of a latent counts only above a floor."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class VAE(nn.Module):
    def __init__(self, x=12, z=4, free_bits=0.5):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(x, 24), nn.ELU())
        self.mu, self.logvar = nn.Linear(24, z), nn.Linear(24, z)
        self.dec = nn.Sequential(nn.Linear(z, 24), nn.ELU(), nn.Linear(24, x))
        self.free_bits = free_bits

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).mean(0)
        floor = torch.full_like(kl, self.free_bits)
        return self.dec(z), torch.maximum(kl, floor).sum(), kl.detach()


class KLWeight:
    def __init__(self, warmup):
        self.warmup, self.t = warmup, 0

    def __call__(self):
        w = min(1.0, self.t / self.warmup)
        self.t += 1
        return w


def run():
    torch.manual_seed(0)
    model, weight = VAE(), KLWeight(4)
    start = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = []
    for _ in range(8):
        x = torch.randn(32, 3) @ torch.randn(3, 12, generator=torch.Generator().manual_seed(5))
        recon, kl, per_dim = model(x)
        loss = F.mse_loss(recon, x, reduction="none").sum(-1).mean() + weight() * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        monitor.append(per_dim)
    return start, list(model.parameters()), monitor


TRUTH = Truth()


def verify(out):
    start, end, monitor = out
    assert all(not torch.equal(a, b) for a, b in zip(start, end)) and len(monitor) == 8
