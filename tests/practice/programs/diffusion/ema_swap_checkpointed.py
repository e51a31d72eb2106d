"""Latent diffusion with EMA by pointer swap, frozen autoencoder, classifier-free guidance and checkpointed blocks: healthy."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class EMA:
    def __init__(self, model, decay=0.95):
        self.decay, self.updates = decay, 0
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for n, p in model.named_parameters():
            self.shadow[n].mul_(decay).add_(p.data, alpha=1 - decay)

    @contextmanager
    def swapped(self, model):
        """Exchange the storages, and exchange them back."""
        saved = {n: p.data for n, p in model.named_parameters()}
        for n, p in model.named_parameters():
            p.data = self.shadow[n]
        try:
            yield model
        finally:
            for n, p in model.named_parameters():
                p.data = saved[n]


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x, c):
        return x + self.fc2(F.dropout(F.silu(self.fc1(self.norm(x + c))), 0.1, self.training))


class UNetless(nn.Module):
    def __init__(self, latent=4, dim=16, classes=3):
        super().__init__()
        self.inp, self.time = nn.Linear(latent, dim), nn.Linear(1, dim)
        self.label = nn.Embedding(classes + 1, dim)
        self.blocks = nn.ModuleList(ResBlock(dim) for _ in range(2))
        self.out = nn.Linear(dim, latent)

    def forward(self, z, t, y):
        h, c = self.inp(z), torch.sin(self.time(t)) + self.label(y)
        for block in self.blocks:
            h = checkpoint(block, h, c, use_reentrant=False) if self.training else block(h, c)
        return self.out(h)


def min_snr_loss(model, z, y):
    t = torch.rand(len(z), 1)
    a, s = torch.cos(t * 1.57), torch.sin(t * 1.57)
    noise = torch.randn_like(z)
    v = a * noise - s * z
    y = torch.where(torch.rand(len(y)) < 0.2, 3, y)
    weight = (a / s.clamp(min=1e-2)).square().clamp(max=5.0).detach()
    return (weight * (model(a * z + s * noise, t, y) - v).square()).mean()


@torch.no_grad()
def sample(model, y, guidance=2.0, steps=4):
    z = torch.randn(len(y), 4)
    for i in range(steps, 0, -1):
        t, u = torch.full((len(y), 1), i / steps), torch.full((len(y), 1), (i - 1) / steps)
        cond, free = model(z, t, y), model(z, t, torch.full_like(y, 3))
        v = free + guidance * (cond - free)
        a, s = torch.cos(t * 1.57), torch.sin(t * 1.57)
        x0, eps = a * z - s * v, s * z + a * v
        z = torch.cos(u * 1.57) * x0 + torch.sin(u * 1.57) * eps
    return z


def run():
    torch.manual_seed(0)
    vae = nn.Sequential(nn.Linear(10, 8), nn.SiLU(), nn.Linear(8, 4)).eval().requires_grad_(False)
    model = UNetless()
    ema, optimizer = EMA(model), torch.optim.AdamW(model.parameters(), lr=2e-3)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    kept = []
    for step in range(6):
        model.train()
        x, y = torch.randn(32, 10), torch.randint(0, 3, (32,))
        with torch.no_grad():
            z = vae(x) * 2
        optimizer.zero_grad(set_to_none=True)
        min_snr_loss(model, z, y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        ema.update(model)
        if step % 3 == 2:
            before = {n: p.detach().clone() for n, p in model.named_parameters()}
            model.eval()
            with ema.swapped(model):
                sample(model, torch.tensor([0, 1, 2]))
            kept.append(all(torch.equal(before[n], p) for n, p in model.named_parameters()))
    moved = all(not torch.equal(start[n], p) for n, p in model.named_parameters())
    return kept, moved, all(not torch.equal(start[n], s) for n, s in ema.shadow.items())


def verify(outcome):
    kept, moved, averaged = outcome
    assert all(kept) and moved and averaged


TRUTH = Truth()
