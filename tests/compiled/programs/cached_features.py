"""Frozen backbone features computed once, then a compiled head is trained on them."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Head(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj = nn.Linear(d, d)
        self.out = nn.Linear(d, 3)

    def forward(self, f):
        return self.out(torch.nn.functional.silu(self.proj(f)))


def extract(backbone, images):
    with torch.inference_mode():  # cause
        feats = [backbone(x) for x in images]
    return feats


def run():
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(12, 8), nn.ReLU())
    images = [torch.randn(8, 12) for _ in range(3)]
    labels = [x[:, :3].argmax(1) for x in images]
    head = Head(8)
    fast = torch.compile(head, backend=BACKEND)
    opt = torch.optim.AdamW(head.parameters(), lr=1e-2)
    losses = []
    for f, y in zip(extract(backbone, images), labels):
        loss = nn.functional.cross_entropy(fast(f), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def right(losses):
    assert len(losses) == 3


TRUTH = Truth(
    fault="features made under inference_mode cannot be saved for backward",
    raises="Inference tensors cannot be saved for backward",
    repair=("with torch.no_grad():",),
)
