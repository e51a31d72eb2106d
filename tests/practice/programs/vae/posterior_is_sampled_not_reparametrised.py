"""A VAE that draws with `sample()`: the decoder's loss never reaches the encoder, the KL alone does."""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from tests.practice.truth import Truth


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(10, 6), nn.Linear(3, 10)

    def forward(self, x):
        mu, log_std = self.enc(x).chunk(2, -1)
        q = Normal(mu, log_std.exp())
        z = q.sample()  # cause
        recon = -Normal(self.dec(z), 1.0).log_prob(x).sum(-1)
        kl = kl_divergence(q, Normal(torch.zeros_like(mu), torch.ones_like(mu))).sum(-1)
        return (recon + kl).mean(), recon.mean()


def run():
    torch.manual_seed(0)
    vae = VAE()
    opt = torch.optim.Adam(vae.parameters(), 1e-2)
    for _ in range(2):
        loss, recon = vae(torch.randn(12, 10))
        linked = torch.autograd.grad(recon, vae.enc.weight, retain_graph=True, allow_unused=True)[0]
        opt.zero_grad()
        loss.backward()
        opt.step()
    return linked


def verify(linked):
    assert linked is None


TRUTH = Truth(fault="the sample has no path to the encoder", names=("sample",), minor=True, repair=("z = q.rsample()",))
