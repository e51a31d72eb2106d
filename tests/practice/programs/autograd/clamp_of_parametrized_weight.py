"""Monotone network: the weight is clamped after each step, but it is parametrized and the clamp hits a temporary."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

from tests.practice.truth import Truth


def bounded(layer):
    """Lipschitz bound by the spectral norm."""
    return parametrizations.spectral_norm(layer)


class MonotoneNet(nn.Module):
    """Non-negative weights and increasing activations: monotone in each input."""

    def __init__(self, dim=4, width=12):
        super().__init__()
        self.first = bounded(nn.Linear(dim, width))
        self.second = bounded(nn.Linear(width, 1))

    def forward(self, x):
        return self.second(F.elu(self.first(x))).squeeze(-1)

    def layers(self):
        return self.first, self.second


def raw_weight(layer):
    """The tensor the optimizer moves."""
    return layer.weight  # cause


@torch.no_grad()
def enforce_monotone(model):
    for layer in model.layers():
        raw_weight(layer).clamp_(min=0.0)


def data(n):
    for _ in range(n):
        x = torch.rand(32, 4)
        yield x, x.sum(1).sqrt()


def run():
    torch.manual_seed(0)
    model = MonotoneNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for x, y in data(3):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        enforce_monotone(model)
    with torch.no_grad():
        return [layer.parametrizations.weight.original.min().item() for layer in model.layers()]


def verify(outcome):
    assert all(smallest < -0.01 for smallest in outcome)


TRUTH = Truth(
    fault="layer.weight of a parametrized layer is computed anew each time; clamp_ changes a temporary",
    names=("weight",),
    repair=("return layer.parametrizations.weight.original",),
)
