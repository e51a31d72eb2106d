"""Contrastive image-text training with a learned temperature."""

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class Tower(nn.Module):
    def __init__(self, width, embed_dim):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.LayerNorm(24))
        self.proj = nn.Linear(24, embed_dim, bias=False)

    def forward(self, x):
        return F.normalize(self.proj(self.body(x)), dim=-1)


class CLIP(nn.Module):
    def __init__(self, image_width=12, text_width=9, embed_dim=8):
        super().__init__()
        self.visual = Tower(image_width, embed_dim)
        self.text = Tower(text_width, embed_dim)
        self.logit_scale = nn.Parameter(torch.ones([], dtype=torch.float64) * np.log(1 / 0.07)).float()  # cause

    def forward(self, image, text):
        i, t = self.visual(image), self.text(text)
        logits = self.logit_scale.exp().clamp(max=100.0) * i @ t.t()
        target = torch.arange(len(image))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def train(model, pairs, lr=1e-3):
    is_gain = lambda n, p: p.ndim < 2 or "ln" in n
    named = list(model.named_parameters())
    opt = torch.optim.AdamW(
        [
            {"params": [p for n, p in named if is_gain(n, p)], "weight_decay": 0.0},
            {"params": [p for n, p in named if not is_gain(n, p)], "weight_decay": 0.2},
        ],
        lr=lr,
    )
    scale = []
    for image, text in pairs:
        loss = model(image, text)
        opt.zero_grad()
        loss.backward()
        opt.step()
        scale.append(float(model.logit_scale))
    return scale


def run():
    torch.manual_seed(0)
    model = CLIP()
    return train(model, [(torch.randn(8, 12), torch.randn(8, 9)) for _ in range(4)])


TRUTH = Truth(
    fault="the cast makes the temperature a plain tensor that is no parameter",
    names=("logit_scale",),
    repair=("self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07))",),
)


def well(out):
    assert len(set(out)) == len(out)


verify = fails(well)
