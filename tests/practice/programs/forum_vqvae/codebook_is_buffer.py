"""VQ-VAE: the codebook is registered as a buffer although a codebook loss shall train it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=8, dim=4, beta=0.25):
        super().__init__()
        self.beta = beta
        self.register_buffer("codebook", torch.randn(n_codes, dim))  # cause

    def forward(self, z):
        d = torch.cdist(z.detach(), self.codebook.detach())
        idx = d.argmin(-1)
        q = self.codebook[idx]
        codebook_loss = F.mse_loss(q, z.detach())
        commitment = F.mse_loss(z, q.detach())
        # straight-through
        return z + (q - z).detach(), codebook_loss + self.beta * commitment, idx


class VQVAE(nn.Module):
    def __init__(self, n=6, dim=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n, 16), nn.ReLU(), nn.Linear(16, dim))
        self.vq = VectorQuantizer(dim=dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, n))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.encoder(x))
        return F.mse_loss(self.decoder(q), x) + vq_loss, idx


def clusters(n, g):
    centre = torch.randint(0, 3, (n, 1), generator=g).float() * 2
    return centre + 0.1 * torch.randn(n, 6, generator=g)


def run():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    model = VQVAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    used = set()
    for _ in range(4):
        loss, idx = model(clusters(24, g))
        opt.zero_grad()
        loss.backward()
        opt.step()
        used |= set(idx.tolist())
    return {k: torch.equal(v, start[k]) for k, v in model.state_dict().items()}, len(used)


def verify(outcome):
    same, used = outcome
    assert used > 0 and same["vq.codebook"]
    assert not same["encoder.0.weight"] and not same["decoder.0.weight"]


TRUTH = Truth(
    fault="the codebook is a buffer, needs no grad and is in no optimizer, so the codebook loss has no effect",
    names=("codebook",),
    repair=("self.codebook = nn.Parameter(torch.randn(n_codes, dim))",),
)
