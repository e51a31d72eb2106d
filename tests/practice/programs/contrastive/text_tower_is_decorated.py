"""CLIP: the text tower's method carries a `@torch.no_grad()` that was written for retrieval."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8))
        self.words = nn.EmbeddingBag(40, 16)
        self.text = nn.Linear(16, 8)
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def encode_image(self, x):
        return F.normalize(self.image(x), dim=-1)

    @torch.no_grad()  # cause
    def encode_text(self, ids):
        return F.normalize(self.text(self.words(ids)), dim=-1)

    def forward(self, x, ids):
        logits = self.log_scale.exp() * self.encode_image(x) @ self.encode_text(ids).t()
        target = torch.arange(len(x))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def run():
    torch.manual_seed(0)
    model = Clip()
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(6, 12), torch.randint(40, (6, 5))).backward()
        opt.step()
    return model


def verify(model):
    assert model.text.weight.grad is None and model.words.weight.grad is None


TRUTH = Truth(fault="the text tower runs without grad", names=("text",), repair=("",))
