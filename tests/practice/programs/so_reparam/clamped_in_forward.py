"""CLIP-like loss: the temperature is clamped by making a new Parameter in forward, so the optimizer steps an orphan."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Tower(nn.Module):
    def __init__(self, n_in, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(n_in, 16), nn.GELU(), nn.Linear(16, dim))

    def forward(self, x):
        return F.normalize(self.mlp(x), dim=-1)


class MiniCLIP(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.image = Tower(10, dim)
        self.text = Tower(6, dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, img, txt):
        # keep the scale in bounds, as in the paper
        self.logit_scale = nn.Parameter(self.logit_scale.data.clamp(0, math.log(100)))  # cause
        logits = self.logit_scale.exp() * self.image(img) @ self.text(txt).t()
        target = torch.arange(len(img))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def pairs(n, g):
    z = torch.randn(n, 6, generator=g)
    return torch.cat([z.sin(), z[:, :4].cos()], 1), z


def run():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    model = MiniCLIP()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scales = []
    for step in range(4):
        loss = model(*pairs(8, g))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scales.append(model.logit_scale.item())
    return scales


def verify(scales):
    assert len(set(scales)) == 1, scales


TRUTH = Truth(
    fault="forward replaces logit_scale by a new Parameter at each call; the optimizer still holds the first one",
    names=("logit_scale",),
    repair=("self.logit_scale.data.clamp_(0, math.log(100))",),
)
