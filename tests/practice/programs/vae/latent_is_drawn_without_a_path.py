"""A VAE draws its latents by `sample()`: the reconstruction teaches the encoder nothing."""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from tests.practice.truth import Truth


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8))
        self.dec = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x):
        mean, log_std = self.enc(x).chunk(2, -1)
        q = Normal(mean, log_std.exp())
        z = q.sample()  # cause
        kl = kl_divergence(q, Normal(0.0, 1.0)).sum(1).mean()
        return self.dec(z), kl


def run():
    torch.manual_seed(0)
    vae = VAE()
    opt = torch.optim.Adam(vae.parameters(), 1e-3)
    for _ in range(3):
        x = torch.rand(16, 10)
        recon, kl = vae(x)
        loss = (recon - x).pow(2).sum(1).mean() + 0.1 * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
    return recon.requires_grad, torch.autograd.grad(vae(x)[0].sum(), vae.enc[0].weight, allow_unused=True)[0]


def verify(out):
    assert out[1] is None


TRUTH = Truth(fault="no gradient flows from the decoder to the encoder", names=("sample",), repair=("z = q.rsample()",))
