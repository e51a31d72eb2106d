"""N-BEATS: each block's backcast is taken from the input by its data."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, window, horizon, width=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(window, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.backcast = nn.Linear(width, window)
        self.forecast = nn.Linear(width, horizon)

    def forward(self, x):
        h = self.body(x)
        return self.backcast(h), self.forecast(h)


class NBeats(nn.Module):
    def __init__(self, window=16, horizon=4, blocks=3):
        super().__init__()
        self.horizon = horizon
        self.blocks = nn.ModuleList(Block(window, horizon) for _ in range(blocks))

    def forward(self, x):
        total = x.new_zeros(len(x), self.horizon)
        residual = x
        for block in self.blocks:
            backcast, forecast = block(residual)
            residual = residual - backcast.data  # cause
            total = total + forecast
        return total


def smape(prediction, target):
    return 200 * ((prediction - target).abs() / (prediction.abs() + target.abs() + 1e-6)).mean()


def run():
    torch.manual_seed(0)
    model = NBeats()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)
    for _ in range(3):
        series = torch.rand(16, 20).cumsum(1)
        opt.zero_grad(set_to_none=True)
        loss = smape(model(series[:, :16]), series[:, 16:])
        loss.backward()
        opt.step()
        schedule.step()
    return [block.backcast.weight.grad for block in model.blocks[:-1]]


def verify(out):
    assert out == [None, None]


TRUTH = Truth(
    fault="the backcast layers never learn",
    names=("backcast", ".data"),
    repair=("residual = residual - backcast",),
)
