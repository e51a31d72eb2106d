"""CLIP: a bracket in the wrong place makes the learned temperature a plain tensor."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ImageEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.patchify = nn.Conv2d(3, 16, 4, stride=4)
        self.norm, self.proj = nn.LayerNorm(16), nn.Linear(16, dim, bias=False)

    def forward(self, x):
        tokens = self.patchify(x).flatten(2).transpose(1, 2)
        return self.proj(self.norm(F.gelu(tokens)).mean(1))


class TextEncoder(nn.Module):
    def __init__(self, vocab, dim, pad=0):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16, padding_idx=pad)
        self.rnn = nn.GRU(16, 16, batch_first=True)
        self.proj = nn.Linear(16, dim, bias=False)
        self.pad = pad

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        last = (ids != self.pad).sum(1) - 1
        return self.proj(h[torch.arange(len(ids)), last])


class CLIP(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.image, self.text = ImageEncoder(dim), TextEncoder(vocab, dim)
        self.logit_scale = nn.Parameter(torch.zeros([])) + math.log(1 / 0.07)  # cause

    def forward(self, images, ids):
        i = F.normalize(self.image(images), dim=-1)
        t = F.normalize(self.text(ids), dim=-1)
        return self.logit_scale.exp() * i @ t.t()


def contrastive_loss(logits):
    labels = torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def pairs(n=8):
    kind = torch.randint(1, 20, (n,))
    images = torch.randn(n, 3, 8, 8) + kind.view(-1, 1, 1, 1) * 0.2
    ids = torch.zeros(n, 5, dtype=torch.long)
    for row, k in enumerate(kind.tolist()):
        length = 2 + row % 4
        ids[row, :length] = torch.randint(1, 20, (length,))
        ids[row, 0] = k
    return images, ids


def build_optimizer(model, lr=5e-3, weight_decay=0.2):
    no_decay = [p for n, p in model.named_parameters() if p.ndim < 2]
    decay = [p for n, p in model.named_parameters() if p.ndim >= 2]
    return torch.optim.AdamW(
        [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}], lr=lr
    )


def run():
    torch.manual_seed(0)
    model = CLIP()
    optimizer = build_optimizer(model)
    before = model.logit_scale.item()
    for _ in range(4):
        loss = contrastive_loss(model(*pairs()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(100))
    return before, model.logit_scale.item()


def verify(outcome):
    before, after = outcome
    assert before == after


TRUTH = Truth(
    fault="logit_scale is the sum of a Parameter and a number, not a Parameter: it is in no optimizer and no state_dict",
    names=("logit_scale",),
    repair=("self.logit_scale = nn.Parameter(torch.zeros([]) + math.log(1 / 0.07))",),
)
