"""Two-phase transfer: the backbone is unfrozen in phase two, but the optimizer was made of what was trainable in phase one."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token, self.channel = nn.Linear(tokens, tokens), nn.Linear(dim, dim)

    def forward(self, x):
        x = x + F.gelu(self.token(self.norm1(x).transpose(1, 2))).transpose(1, 2)
        return x + F.gelu(self.channel(self.norm2(x)))


class Backbone(nn.Module):
    def __init__(self, tokens=6, width=8, dim=16, depth=2):
        super().__init__()
        self.embed = nn.Linear(width, dim)
        self.blocks = nn.Sequential(*(MixerBlock(tokens, dim) for _ in range(depth)))

    def forward(self, x):
        return self.blocks(self.embed(x)).mean(1)


class FineTuner:
    """Linear probing first, then full fine-tuning (LP-FT)."""

    def __init__(self, backbone, classes, lr=5e-3):
        self.backbone, self.head = backbone, nn.Linear(16, classes)
        self.model = nn.Sequential(self.backbone, self.head)
        self.backbone.requires_grad_(False)
        trainable = [p for p in self.model.parameters() if p.requires_grad]  # cause
        self.optimizer = torch.optim.Adam(trainable, lr=lr)

    def set_phase(self, phase):
        if phase == "full":
            self.backbone.requires_grad_(True)
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.1

    def fit(self, loader):
        self.model.train()
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
        return loss.item()


def loader(n, classes=4):
    for _ in range(n):
        y = torch.randint(0, classes, (16,))
        yield torch.randn(16, 6, 8) + F.one_hot(y, 8).unsqueeze(1) * 0.7, y


def run():
    torch.manual_seed(0)
    tuner = FineTuner(Backbone(), classes=4)
    tuner.set_phase("probe")
    tuner.fit(loader(2))
    probe = {n: p.detach().clone() for n, p in tuner.model.named_parameters()}
    tuner.set_phase("full")
    tuner.fit(loader(2))
    return {n: (torch.equal(probe[n], p), p.grad is not None) for n, p in tuner.model.named_parameters()}


def verify(outcome):
    assert all(has_grad for _, has_grad in outcome.values())
    assert all(still == name.startswith("0.") for name, (still, _) in outcome.items())


TRUTH = Truth(
    fault="the backbone was left out of the optimizer while frozen; once unfrozen it collects gradients and never moves",
    names=("backbone", "optimizer"),
    repair=("trainable = list(self.model.parameters())",),
)
