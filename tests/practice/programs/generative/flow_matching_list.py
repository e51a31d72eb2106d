"""Conditional flow matching: the residual blocks live in a plain list and are not part of the model."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        freqs = torch.exp(-math.log(1000.0) * torch.arange(dim // 2) / (dim // 2))
        self.register_buffer("freqs", freqs)
        self.proj = nn.Linear(dim, dim)

    def forward(self, t):
        angle = t.unsqueeze(-1) * self.freqs * 100
        return F.silu(self.proj(torch.cat([angle.sin(), angle.cos()], -1)))


class AdaBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.modulation = nn.Linear(dim, 2 * dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))

    def forward(self, x, c):
        scale, shift = self.modulation(c).chunk(2, -1)
        return x + self.mlp(self.norm(x) * (1 + scale) + shift)


class VelocityNet(nn.Module):
    def __init__(self, width=2, dim=16, depth=3, classes=3):
        super().__init__()
        self.inp = nn.Linear(width, dim)
        self.time = TimeEmbedding(dim)
        self.label = nn.Embedding(classes + 1, dim)
        self.blocks = [AdaBlock(dim) for _ in range(depth)]  # cause
        self.out = nn.Linear(dim, width)

    def forward(self, x, t, y):
        c = self.time(t) + self.label(y)
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, c)
        return self.out(h)


def flow_matching_loss(model, x1, y, drop=0.1):
    x0, t = torch.randn_like(x1), torch.rand(len(x1))
    xt = torch.lerp(x0, x1, t.unsqueeze(-1))
    y = torch.where(torch.rand(len(y)) < drop, torch.full_like(y, 3), y)
    return F.mse_loss(model(xt, t, y), x1 - x0)


@torch.no_grad()
def sample(model, y, steps=4):
    x = torch.randn(len(y), 2)
    for i in range(steps):
        x = x + model(x, torch.full((len(y),), i / steps), y) / steps
    return x


def run():
    torch.manual_seed(0)
    model = VelocityNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.99))
    blocks = list(model.blocks)
    before = [p.detach().clone() for b in blocks for p in b.parameters()]
    head = model.out.weight.detach().clone()
    for _ in range(4):
        y = torch.randint(0, 3, (32,))
        x1 = torch.stack([y - 1.0, (y % 2) * 2 - 1.0], -1) + 0.1 * torch.randn(32, 2)
        loss = flow_matching_loss(model, x1, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    sample(model, torch.tensor([0, 1, 2]))
    return before, [p for b in blocks for p in b.parameters()], head, model.out.weight


def verify(outcome):
    before, after, head_before, head_after = outcome
    assert all(torch.equal(b, a) for b, a in zip(before, after))
    assert all(p.grad is not None for p in after) and not torch.equal(head_before, head_after)


TRUTH = Truth(
    fault="a list hides the blocks from parameters(): their gradients pile up, they are never stepped or cleared",
    names=("blocks",),
    repair=("self.blocks = nn.ModuleList(AdaBlock(dim) for _ in range(depth))",),
)
