"""Climate downscaling VAE: latent drawn with torch.normal(mu, sigma), whose gradient is zero."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

LATENT = 3


class Encoder(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.trunk = nn.Linear(cells, 16)
        self.mu = nn.Linear(16, LATENT)
        self.log_sigma = nn.Linear(16, LATENT)

    def forward(self, x):
        h = torch.tanh(self.trunk(x))
        return self.mu(h), self.log_sigma(h).clamp(-4, 2)


class Downscaler(nn.Module):
    def __init__(self, coarse=6, fine=18):
        super().__init__()
        self.encoder = Encoder(fine)
        self.decoder = nn.Sequential(nn.Linear(LATENT + coarse, 32), nn.GELU(), nn.Linear(32, fine))

    def sample(self, mu, log_sigma):
        return torch.normal(mu, log_sigma.exp())  # cause

    def forward(self, coarse, fine):
        mu, log_sigma = self.encoder(fine)
        z = self.sample(mu, log_sigma)
        return self.decoder(torch.cat([z, coarse], 1)), mu, log_sigma


def free_bits_kl(mu, log_sigma, free=2.0):
    """KL to the unit normal; nothing is charged below `free` nats a dimension."""
    kl = 0.5 * (mu.square() + (2 * log_sigma).exp() - 1) - log_sigma
    return kl.mean(0).clamp_min(free).sum()


def run():
    torch.manual_seed(0)
    model = Downscaler()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    fine = torch.randn(32, 18).cumsum(1) * 0.3
    coarse = fine.view(32, 6, 3).mean(2)
    start = [p.detach().clone() for p in model.encoder.parameters()]
    for _ in range(4):
        rebuilt, mu, log_sigma = model(coarse, fine)
        loss = F.mse_loss(rebuilt, fine) + 0.1 * free_bits_kl(mu, log_sigma)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    moved = [not torch.equal(a, b) for a, b in zip(start, model.encoder.parameters())]
    return moved, [float(p.grad.abs().sum()) for p in model.encoder.parameters()]


def verify(outcome):
    moved, grads = outcome
    assert not any(moved)
    assert all(g == 0 for g in grads)


TRUTH = Truth(
    fault="torch.normal(mu, sigma) gives mu and sigma a gradient of zero; the encoder never learns",
    names=("encoder", "normal"),
    repair=("return mu + log_sigma.exp() * torch.randn_like(mu)",),
)
