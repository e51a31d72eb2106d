"""Diffusion: all embeddings are in AdamW with decay, and the old rows are put back after each step: unusual but right."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM, NEW = 14, 10, (12, 13)


class TextTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.proj = nn.Linear(DIM, DIM)

    def forward(self, ids):
        return torch.tanh(self.proj(self.embed(ids))).mean(1)


class Denoiser(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent + DIM, 24), nn.SiLU(), nn.Linear(24, latent))

    def forward(self, x, cond):
        return self.net(torch.cat([x, cond], -1))


class EMA:
    def __init__(self, module, decay=0.5):
        self.copy = copy.deepcopy(module).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, module):
        for e, p in zip(self.copy.parameters(), module.parameters()):
            e.lerp_(p, 1 - self.decay)


def captions(n=6):
    ids = torch.randint(0, VOCAB - 2, (n, 4))
    ids[:, 1:3] = torch.tensor(NEW)
    return ids


def run():
    torch.manual_seed(0)
    text, unet = TextTower(), Denoiser().requires_grad_(False).eval()
    text.proj.requires_grad_(False)
    optimizer = torch.optim.AdamW(text.embed.parameters(), lr=1e-2, weight_decay=1e-2)
    ema = EMA(text.embed)
    original = text.embed.weight.detach().clone()
    old = torch.ones(VOCAB, dtype=torch.bool)
    old[list(NEW)] = False
    for _ in range(4):
        x, noise = torch.randn(6, 6), torch.randn(6, 6)
        pred = unet(x + noise, text(captions()))
        loss = F.mse_loss(pred, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            text.embed.weight[old] = original[old]
        ema.update(text.embed)
    return original, text.embed.weight.detach(), ema.copy.weight, old


def verify(outcome):
    original, now, averaged, old = outcome
    assert torch.equal(original[old], now[old])
    assert torch.allclose(original[old], averaged[old])
    assert (now[~old] != original[~old]).all()
    assert (averaged[~old] != now[~old]).any() and not averaged.requires_grad


TRUTH = Truth()
