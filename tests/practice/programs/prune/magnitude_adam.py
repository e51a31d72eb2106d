"""Pruning in the middle of training: gradients are masked, but Adam's momentum brings the pruned weights back."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MagnitudePruner:
    def __init__(self, model, sparsity):
        self.sparsity = sparsity
        self.weights = {n: m.weight for n, m in model.named_modules() if isinstance(m, nn.Linear)}
        self.masks, self.handles = {}, []

    @torch.no_grad()
    def prune(self, optimizer):
        for name, w in self.weights.items():
            k = int(w.numel() * self.sparsity)
            threshold = w.abs().flatten().kthvalue(k).values
            mask = (w.abs() > threshold).float()
            w.mul_(mask)
            self.masks[name] = mask
            self.handles.append(w.register_hook(lambda g, mask=mask: g * mask))

    @torch.no_grad()
    def zeros_left(self):
        return {name: bool(w[self.masks[name] == 0].eq(0).all()) for name, w in self.weights.items()}

    def remove(self):
        for handle in self.handles:
            handle.remove()


class Tagger(nn.Module):
    def __init__(self, width=16, hidden=24, tags=5):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.fc2 = nn.Linear(hidden, tags)

    def forward(self, x):
        return self.fc2(F.gelu(self.norm(self.fc1(x))))


def train_epoch(model, optimizer, data, batch_size=16):
    for x, y in zip(data[0].split(batch_size), data[1].split(batch_size)):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Tagger()
    data = torch.randn(32, 16), torch.randint(0, 5, (32,))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    pruner = MagnitudePruner(model, sparsity=0.5)
    train_epoch(model, optimizer, data)
    pruner.prune(optimizer)  # cause
    train_epoch(model, optimizer, data)
    zeros = pruner.zeros_left()
    pruner.remove()
    return zeros


def verify(zeros):
    assert not any(zeros.values())


TRUTH = Truth(
    fault="Adam's moments from before the pruning go on moving weights whose gradients are masked",
    names=("exp_avg", "fc1.weight", "fc2.weight"),
    repair=(
        "pruner.prune(optimizer)\n"
        "for name, w in pruner.weights.items():\n"
        "    optimizer.state[w]['exp_avg'].mul_(pruner.masks[name])",
    ),
)
