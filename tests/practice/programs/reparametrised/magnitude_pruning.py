"""Magnitude pruning by hand: the mask is applied once, and momentum brings the pruned weights back."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class KeywordSpotter(nn.Module):
    def __init__(self, mels=6, dim=12, classes=4):
        super().__init__()
        self.dw = nn.Conv1d(mels, mels, 3, padding=1, groups=mels)
        self.pw = nn.Conv1d(mels, dim, 1)
        self.fc = nn.Linear(dim, classes)

    def forward(self, x):
        return self.fc(F.relu(self.pw(F.relu(self.dw(x)))).mean(-1))


class Pruner:
    def __init__(self, model, sparsity):
        self.model, self.sparsity, self.masks = model, sparsity, {}

    @torch.no_grad()
    def compute(self):
        weights = {n: p for n, p in self.model.named_parameters() if p.ndim > 1}
        scores = torch.cat([p.abs().flatten() for p in weights.values()])
        threshold = scores.quantile(self.sparsity)
        self.masks = {n: p.abs() > threshold for n, p in weights.items()}

    @torch.no_grad()
    def apply(self):
        for n, p in self.model.named_parameters():
            if n in self.masks:
                p.mul_(self.masks[n])

    def achieved(self):
        zero = sum((dict(self.model.named_parameters())[n] == 0).sum().item() for n in self.masks)
        return zero / sum(m.numel() for m in self.masks.values())


def train(model, opt, steps, pruner=None):
    for _ in range(steps):
        x, y = torch.randn(8, 6, 10), torch.randint(0, 4, (8,))
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()  # cause
    return loss.item()


def run():
    torch.manual_seed(0)
    model = KeywordSpotter()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    pruner = Pruner(model, sparsity=0.6)
    print(f"dense {train(model, opt, 2):.4f}")
    pruner.compute()
    pruner.apply()  # also
    print(f"pruned to {pruner.achieved():.2f}")
    print(f"fine-tuned {train(model, opt, 2, pruner):.4f}, sparsity {pruner.achieved():.2f}")
    return pruner.achieved()


def verify(out):
    assert out < 0.3


TRUTH = Truth(
    fault="the optimizer steps pruned weights away from zero",
    values=True,
    repair=("opt.step()\npruner.apply() if pruner is not None else None",),
)
