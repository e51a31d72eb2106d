"""VQ-VAE on patches: the codebook never learns, its loss is taken of the straight-through tensor."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=16, dim=8, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        self.codebook.weight.data.uniform_(-1 / n_codes, 1 / n_codes)
        self.beta = beta

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        dist = torch.cdist(flat, self.codebook.weight)
        idx = dist.argmin(dim=-1)
        quantized = self.codebook(idx).view_as(z)
        ste = z + (quantized - z).detach()

        commitment = F.mse_loss(z, quantized.detach())
        embedding = F.mse_loss(ste, z.detach())  # cause
        return ste, idx, embedding + self.beta * commitment


class VQVAE(nn.Module):
    def __init__(self, patch=12, dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(patch, 32), nn.GELU(), nn.Linear(32, dim))
        self.vq = VectorQuantizer(dim=dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, patch))

    def forward(self, x):
        q, idx, vq_loss = self.vq(self.encoder(x))
        return self.decoder(q), idx, vq_loss


def perplexity(idx, n_codes):
    probs = torch.bincount(idx, minlength=n_codes).float() / idx.numel()
    return torch.exp(-(probs * (probs + 1e-10).log()).sum())


def run():
    torch.manual_seed(0)
    model = VQVAE()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    initial = model.vq.codebook.weight.detach().clone()
    history = []
    for _ in range(4):
        x = torch.randn(8, 5, 12)
        recon, idx, vq_loss = model(x)
        loss = F.mse_loss(recon, x) + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append((loss.item(), perplexity(idx, 16).item()))
    return history, initial, model.vq.codebook.weight.detach()


def verify(outcome):
    _, initial, final = outcome
    assert torch.equal(initial, final)


TRUTH = Truth(
    fault="the codebook loss uses the straight-through output, in which the codebook is detached",
    names=("codebook",),
    repair=("embedding = F.mse_loss(quantized, z.detach())",),
)
