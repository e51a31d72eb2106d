"""Averaged weights for validation: the backup is no copy, so the training weights are lost when they are swapped."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EMA:
    def __init__(self, model, decay=0.9):
        self.model, self.decay, self.backup = model, decay, {}
        self.shadow = {n: p.data.clone() for n, p in model.named_parameters() if p.requires_grad}

    def update(self):
        for n, p in self.model.named_parameters():
            if p.requires_grad:
                self.shadow[n] = self.decay * self.shadow[n] + (1 - self.decay) * p.data

    def apply_shadow(self):
        for n, p in self.model.named_parameters():
            if p.requires_grad:
                self.backup[n] = p.data  # cause
                p.data.copy_(self.shadow[n])

    def restore(self):
        for n, p in self.model.named_parameters():
            if p.requires_grad:
                p.data.copy_(self.backup[n])  # also
        self.backup = {}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def validate(model, ema, x, y):
    ema.apply_shadow()
    model.eval()
    accuracy = (model(x).argmax(-1) == y).float().mean().item()
    model.train()
    ema.restore()
    return accuracy


def run(epochs=3):
    torch.manual_seed(0)
    model = Classifier()
    ema = EMA(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    kept = []
    for _ in range(epochs):
        for a, b in zip(x[:24].split(8), y[:24].split(8)):
            loss = F.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update()
        before = model.net[0].weight.detach().clone()
        validate(model, ema, x[24:], y[24:])
        kept.append(torch.equal(before, model.net[0].weight))
    return kept


def verify(kept):
    assert not any(kept)


TRUTH = Truth(
    fault="the backup is the parameter's own memory: restoring it copies the averaged weights onto themselves",
    names=("backup",),
    repair=("self.backup[n] = p.data.clone()",),
)
