"""Generative: a VQ-VAE whose codes are buffers moved by running sums, without any gradient, and re-seeded; all right."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CODES, DIM = 12, 4


class EMAQuantizer(nn.Module):
    def __init__(self, decay=0.7, beta=0.25, eps=1e-5):
        super().__init__()
        codes = torch.randn(CODES, DIM)
        codes[-3:] += 40  # never chosen
        self.register_buffer("codes", codes)
        self.register_buffer("size", torch.ones(CODES))
        self.register_buffer("total", codes.clone())
        self.decay, self.beta, self.eps = decay, beta, eps

    def forward(self, z):
        index = torch.cdist(z.detach(), self.codes).argmin(1)
        q = F.embedding(index, self.codes)
        commitment = self.beta * F.mse_loss(z, q)
        if self.training:
            self.learn(z.detach(), index)
        return z + (q - z).detach(), commitment

    @torch.no_grad()
    def learn(self, z, index):
        hot = F.one_hot(index, CODES).type_as(z)
        self.size.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
        n = self.size.sum()
        smoothed = (self.size + self.eps) / (n + CODES * self.eps) * n
        self.codes.copy_(self.total / smoothed[:, None])
        dead = self.size < 0.5
        if dead.any():
            seeds = z[torch.randint(0, len(z), (int(dead.sum()),))]
            self.codes[dead] = seeds
            self.total[dead] = seeds
            self.size[dead] = 1.0


class VQVAE(nn.Module):
    def __init__(self, inp=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inp, 16), nn.Tanh(), nn.Linear(16, DIM))
        self.quantizer = EMAQuantizer()
        self.decoder = nn.Sequential(nn.Linear(DIM, 16), nn.Tanh(), nn.Linear(16, inp))

    def forward(self, x):
        q, commitment = self.quantizer(self.encoder(x))
        return self.decoder(q), commitment


def run():
    torch.manual_seed(0)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    for _ in range(4):
        model.train()
        x = torch.randn(40, 8)
        recon, commitment = model(x)
        loss = F.mse_loss(recon, x) + commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        kept = model.quantizer.codes.clone()
        with torch.no_grad():
            model(torch.randn(10, 8))
        assert torch.equal(kept, model.quantizer.codes)
    return before, model.state_dict()


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(before[k], after[k]) for k in before)
    assert after["quantizer.codes"].abs().max() < 20  # the far ones came home


TRUTH = Truth()
