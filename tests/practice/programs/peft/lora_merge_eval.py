"""LoRA that is merged into the base weight for evaluation and taken out again for training: healthy."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MergeableLoRA(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.weight = nn.Parameter(base.weight.detach().clone(), requires_grad=False)
        self.bias = nn.Parameter(base.bias.detach().clone(), requires_grad=False)
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling, self.merged = alpha / rank, False

    @torch.no_grad()
    def _delta(self):
        return self.scaling * (self.lora_B @ self.lora_A)

    def train(self, mode=True):
        super().train(mode)
        if mode and self.merged:
            self.weight.data -= self._delta()
            self.merged = False
        elif not mode and not self.merged:
            self.weight.data += self._delta()
            self.merged = True
        return self

    def forward(self, x):
        out = F.linear(x, self.weight, self.bias)
        if not self.merged:
            out = out + self.scaling * F.linear(F.linear(x, self.lora_A), self.lora_B)
        return out


class Ranker(nn.Module):
    def __init__(self, width=12, hidden=24):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, hidden)
        self.score = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.score(torch.tanh(self.fc2(torch.tanh(self.fc1(x))))).squeeze(-1)


def adapt(model):
    model.requires_grad_(False)
    model.fc1, model.fc2 = MergeableLoRA(model.fc1), MergeableLoRA(model.fc2)
    return model


def pairwise_loss(model, good, bad):
    return F.softplus(model(bad) - model(good)).mean()


def run():
    torch.manual_seed(0)
    model = adapt(Ranker())
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2, weight_decay=0.0)
    base = model.fc1.weight.detach().clone()
    start = [p.detach().clone() for p in trainable]
    differences = []
    for _ in range(3):
        model.train()
        good, bad = torch.randn(16, 12) + 0.3, torch.randn(16, 12)
        optimizer.zero_grad()
        pairwise_loss(model, good, bad).backward()
        optimizer.step()
        with torch.no_grad():
            separate = model(good)
            model.eval()
            differences.append((model(good) - separate).abs().max().item())
    model.train()
    return base, model.fc1.weight.detach(), differences, start, [p.detach() for p in trainable]


def verify(outcome):
    base, after, differences, start, trained = outcome
    assert max(differences) < 1e-5 and torch.allclose(base, after, atol=1e-6)
    assert all(not torch.equal(a, b) for a, b in zip(start, trained))


TRUTH = Truth()
