"""Learnable temperature: registered as a buffer with requires_grad, it gathers gradients that no optimizer applies."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Tower(nn.Module):
    def __init__(self, dim, out=8):
        super().__init__()
        self.fc = nn.Linear(dim, out)

    def forward(self, x):
        return F.normalize(self.fc(x), dim=-1)


class CLIPLike(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = Tower(10)
        self.text = Tower(6)
        start = torch.tensor(math.log(1 / 0.07))
        self.register_buffer("logit_scale", start.requires_grad_())  # cause

    def forward(self, image, text):
        scale = self.logit_scale.exp().clamp(max=100)
        return scale * self.image(image) @ self.text(text).T


def contrastive(logits):
    target = torch.arange(len(logits))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def groups(model, decay):
    with_decay = [p for p in model.parameters() if p.ndim >= 2]
    without = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": with_decay, "weight_decay": decay}, {"params": without, "weight_decay": 0.0}]


def pairs(n=12):
    text = torch.randn(n, 6)
    image = torch.cat([text + 0.1 * torch.randn(n, 6), torch.randn(n, 4)], 1)
    return image, text


def run():
    torch.manual_seed(0)
    model = CLIPLike()
    optimizer = torch.optim.AdamW(groups(model, 0.1), lr=1e-2)
    start = model.logit_scale.item()
    for _ in range(3):
        image, text = pairs()
        optimizer.zero_grad()
        contrastive(model(image, text)).backward()
        optimizer.step()
    return model.logit_scale.item() - start


def verify(outcome):
    assert outcome == 0


TRUTH = Truth(
    fault="logit_scale is a buffer: it gets gradients (never cleared), is in no optimizer and never changes",
    names=("logit_scale",),
    repair=("self.logit_scale = nn.Parameter(start)",),
)
