"""Diffusion: textual inversion zeroes the gradient of the old tokens, but AdamW still decays them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM, LATENT = 12, 16, 8
PLACEHOLDER = VOCAB  # the id of the new token


class TextEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.mixer = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def add_token(self, initializer):
        old = self.token_embedding.weight.data
        grown = nn.Embedding(old.shape[0] + 1, old.shape[1])
        grown.weight.data[:-1] = old
        grown.weight.data[-1] = old[initializer]
        self.token_embedding = grown

    def forward(self, ids):
        return self.mixer(self.token_embedding(ids)).mean(dim=1)


class Denoiser(nn.Module):
    def __init__(self, latent, dim):
        super().__init__()
        self.inp = nn.Linear(latent + dim + 1, 32)
        self.out = nn.Linear(32, latent)

    def forward(self, x, t, cond):
        h = torch.cat([x, cond, t[:, None]], dim=-1)
        return self.out(F.silu(self.inp(h)))


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)


def add_noise(x, noise, t):
    a = (1 - t)[:, None]
    return a.sqrt() * x + (1 - a).sqrt() * noise


def prompts(batch):
    ids = torch.randint(0, VOCAB, (batch, 5))
    ids[:, 2] = PLACEHOLDER
    return ids


def run():
    torch.manual_seed(0)
    text_encoder = TextEncoder(VOCAB, DIM)
    text_encoder.add_token(initializer=3)
    unet = Denoiser(LATENT, DIM)
    freeze(unet)
    freeze(text_encoder.mixer)

    embeddings = text_encoder.token_embedding
    optimizer = torch.optim.AdamW(embeddings.parameters(), lr=5e-2, weight_decay=1e-2)  # cause
    keep = torch.arange(VOCAB + 1) != PLACEHOLDER
    before = embeddings.weight.detach().clone()

    images = torch.randn(16, LATENT)
    for step in range(4):
        x = images[step * 4 : (step + 1) * 4]
        noise = torch.randn_like(x)
        t = torch.rand(x.shape[0])
        pred = unet(add_noise(x, noise, t), t, text_encoder(prompts(x.shape[0])))
        loss = F.mse_loss(pred, noise)
        loss.backward()
        # only the row of the placeholder is to be learned
        embeddings.weight.grad[keep] = 0
        optimizer.step()
        optimizer.zero_grad()

    after = embeddings.weight.detach()
    return before[keep], after[keep].clone(), (after - before)[PLACEHOLDER].abs().max()


def verify(outcome):
    old, new, moved = outcome
    assert moved > 0
    assert not torch.equal(old, new)
    assert (new.abs() <= old.abs()).all()  # they only shrink


TRUTH = Truth(
    fault="rows whose gradient is zeroed are still shrunk by AdamW's weight decay",
    names=("token_embedding", "weight_decay"),
    repair=("optimizer = torch.optim.AdamW(embeddings.parameters(), lr=5e-2, weight_decay=0.0)",),
)
