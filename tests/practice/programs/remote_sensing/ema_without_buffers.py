"""EMA of a satellite model: only parameters are averaged; the batch norm's running statistics of the EMA stay as initialised."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LandCoverNet(nn.Module):
    def __init__(self, bands=5, classes=3):
        super().__init__()
        self.conv = nn.Conv2d(bands, 8, 3, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(F.relu(self.bn(self.conv(x))).mean((2, 3)))


class ModelEMA:
    def __init__(self, model, decay):
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)  # cause


def tiles(n):
    y = torch.arange(n) % 3
    x = 4 + 2 * torch.randn(n, 5, 6, 6)
    x[torch.arange(n), y] += 3
    return x, y


def run():
    torch.manual_seed(0)
    model = LandCoverNet()
    ema = ModelEMA(model, decay=0.5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(4):
        x, y = tiles(24)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    return model.bn.running_mean.clone(), ema.shadow.bn.running_mean, ema.shadow.bn.running_var


def verify(outcome):
    model_mean, mean, var = outcome
    assert model_mean.abs().max() > 0.1
    assert torch.equal(mean, torch.zeros_like(mean)) and torch.equal(var, torch.ones_like(var))


TRUTH = Truth(
    fault="running_mean and running_var of the EMA model are never updated, in evaluation it normalises wrongly",
    names=("running_mean", "running_var"),
    repair=(
        "s.lerp_(p, 1 - self.decay)\n"
        "for own, given in zip(self.shadow.buffers(), model.buffers()):\n"
        "    own.copy_(given)",
    ),
)
