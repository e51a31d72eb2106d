"""Adapters: both LoRA factors start at zero, so the gradient of each is zero for ever."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.empty(base.out_features, rank))
        self.scaling = alpha / rank
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.zeros_(self.lora_A)  # cause
        nn.init.zeros_(self.lora_B)  # also

    def forward(self, x):
        return self.base(x) + self.scaling * F.linear(F.linear(x, self.lora_A), self.lora_B)


class SentimentModel(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)
        self.score = nn.Linear(dim, 2)

    def forward(self, ids):
        h = self.embed(ids)
        h = h + self.down(F.gelu(self.up(h)))
        return self.score(h.mean(1))


def add_adapters(model):
    model.embed.requires_grad_(False)
    for name in ("up", "down"):
        setattr(model, name, LoRALinear(getattr(model, name)))
    return [p for p in model.parameters() if p.requires_grad]


def run():
    torch.manual_seed(0)
    model = SentimentModel()
    trainable = add_adapters(model)
    optimizer = torch.optim.AdamW(trainable, lr=1e-2)
    ids = torch.randint(30, (16, 5))
    labels = (ids[:, 0] > 14).long()
    for _ in range(4):
        loss = F.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {k: p.detach() for k, p in model.named_parameters() if "lora_" in k}


def verify(outcome):
    assert len(outcome) == 4
    assert all(p.abs().max() == 0 for p in outcome.values())


TRUTH = Truth(
    values=True,
    fault="A and B are both zero: dA needs B, dB needs A; the adapters stay zero",
    names=("lora_A", "lora_B"),
    repair=("nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))",),
)
