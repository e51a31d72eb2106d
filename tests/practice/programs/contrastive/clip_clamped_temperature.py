"""CLIP: the temperature is clamped by its data after each step, and the labels come from no graph at all."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, 8, 4, 4), nn.Flatten(), nn.Linear(32, 8))
        self.token_embedding = nn.Embedding(20, 8)
        self.positional_embedding = nn.Parameter(torch.empty(5, 8).normal_(std=0.01))
        self.text_projection = nn.Parameter(torch.empty(8, 8).normal_(std=8**-0.5))
        self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07))

    def encode_text(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        return x[torch.arange(len(x)), text.argmax(-1)] @ self.text_projection

    def forward(self, image, text):
        i, t = F.normalize(self.visual(image), dim=-1), F.normalize(self.encode_text(text), dim=-1)
        logits = self.logit_scale.exp() * i @ t.t()
        return logits, logits.t()


def run():
    torch.manual_seed(0)
    model = CLIP()
    is_gain = lambda n, p: p.ndim < 2 or "bias" in n or "logit_scale" in n
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in named if is_gain(n, p)], "weight_decay": 0.0},
            {"params": [p for n, p in named if not is_gain(n, p)], "weight_decay": 0.2},
        ],
        lr=0.5,
    )
    scales, accs = [], []
    for _ in range(3):
        image, text = torch.randn(6, 3, 8, 8), torch.randint(20, (6, 5))
        per_image, per_text = model(image, text)
        labels = torch.arange(6)
        loss = (F.cross_entropy(per_image, labels) + F.cross_entropy(per_text, labels)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(100))
        scales.append(model.logit_scale.exp().item())
        accs.append(float((per_image.argmax(1).numpy() == labels.numpy()).mean()))
    return model, scales, accs, loss.item()


TRUTH = Truth()


def verify(out):
    model, scales, accs, loss = out
    assert all(1 <= s <= 100.01 for s in scales) and len(set(scales)) > 1
    assert all(p.grad is not None for p in model.parameters())
    assert 0 < loss < 1e3
