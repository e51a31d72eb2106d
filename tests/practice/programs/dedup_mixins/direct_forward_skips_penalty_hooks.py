"""Deduplicated: a common Runner calls `layer.forward(x)` instead of `layer(x)`; the hooks that collect the activity penalty never run."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ActivityPenaltyMixin:
    """activity_regularizer=l1(...) of the first version, by forward hooks."""

    def collect(self):
        self.activity = []
        for layer in self.layers:
            layer.register_forward_hook(lambda module, args, output: self.activity.append(output.abs().mean()))

    def penalty(self, weight=0.1):
        total = sum(self.activity, torch.zeros(()))
        self.activity.clear()
        return weight * total


class RunnerMixin:
    def run_layers(self, x):
        for layer in self.layers:
            x = layer.forward(x)  # cause
            x = F.softplus(x)
        return x


class SparseAutoencoder(RunnerMixin, ActivityPenaltyMixin, nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, 12), nn.Linear(12, 4)])
        self.decode = nn.Linear(4, dim)
        self.collect()

    def forward(self, x):
        return self.decode(self.run_layers(x))


def run():
    torch.manual_seed(0)
    model = SparseAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    penalties = []
    for _ in range(3):
        x = torch.randn(10, 8)
        loss = F.mse_loss(model(x), x)
        penalty = model.penalty()
        optimizer.zero_grad()
        (loss + penalty).backward()
        optimizer.step()
        penalties.append(penalty)
    return penalties


def verify(penalties):
    assert all(not p.requires_grad and float(p) == 0 for p in penalties)


TRUTH = Truth(
    fault="forward() is called directly, without the hooks: the activity penalty is an empty constant",
    names=("forward",),
    repair=("x = layer(x)",),
)
