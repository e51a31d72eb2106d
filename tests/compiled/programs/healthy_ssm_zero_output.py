"""Forecasting: a gated linear recurrence by an associative scan; the block's output is zero at first."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


def combine(left, right):
    return left[0] * right[0], right[0] * left[1] + right[1]


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gates = nn.Linear(width, 2 * width)
        self.log_decay = nn.Parameter(torch.linspace(1, 4, width))
        self.out = nn.Linear(width, width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        recur, drive = self.gates(self.norm(x)).chunk(2, -1)
        log_a = -8 * torch.sigmoid(recur) * F.softplus(-self.log_decay)
        a = torch.exp(log_a)
        drive = torch.sqrt(-torch.expm1(2 * log_a)) * drive
        return x + self.out(associative_scan(combine, (a, drive), dim=1, combine_mode="generic")[1])


class Forecaster(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.lift = nn.Linear(1, width)
        self.blocks = nn.ModuleList([Recurrent(width)])
        self.head = nn.Linear(width, 1)

    def forward(self, series):
        x = self.lift(series[..., None])
        for block in self.blocks:
            x = block(x)
        return self.head(x).squeeze(-1)


def setup():
    torch.manual_seed(0)


def run():
    model = Forecaster()
    forecast = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inner = model.blocks[0].gates.weight
    sizes, losses = [], []
    for _ in range(4):
        series = torch.sin(torch.arange(13) * 0.6 + 6 * torch.rand(8, 1))
        loss = F.mse_loss(forecast(series[:, :-1]), series[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        sizes.append(inner.grad.abs().max().item())
        optimizer.step()
        losses.append(loss.item())
    return sizes, losses, model.blocks[0].log_decay.grad


def verify(outcome):
    sizes, losses, decay = outcome
    assert sizes[0] == 0 and min(sizes[1:]) > 0
    assert decay.abs().sum() > 0 and losses[-1] < losses[0]
