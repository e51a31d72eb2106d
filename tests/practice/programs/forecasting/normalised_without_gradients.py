"""Reversible instance normalisation: the affine part stands inside the no_grad that was meant for the statistics."""

import torch
from torch import nn

from tests.practice.truth import Truth


class RevIN(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels))

    @torch.no_grad()  # cause
    def normalise(self, x):
        self.mean = x.mean(1, keepdim=True)
        self.std = (x.var(1, keepdim=True, unbiased=False) + self.eps).sqrt()
        return (x - self.mean) / self.std * self.gain + self.shift

    def restore(self, y):
        return y * self.std + self.mean


class DLinear(nn.Module):
    def __init__(self, window=24, horizon=6, channels=3):
        super().__init__()
        self.norm = RevIN(channels)
        self.trend = nn.Linear(window, horizon)
        self.season = nn.Linear(window, horizon)
        self.pool = nn.AvgPool1d(5, stride=1, padding=2, count_include_pad=False)

    def forward(self, x):
        z = self.norm.normalise(x).transpose(1, 2)
        trend = self.pool(z)
        y = self.trend(trend) + self.season(z - trend)
        return self.norm.restore(y.transpose(1, 2))


def run():
    torch.manual_seed(0)
    model = DLinear()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    series = torch.randn(40, 30, 3).cumsum(1)
    for batch in series.split(10):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(batch[:, :24]), batch[:, 24:])
        loss.backward()
        opt.step()
    return model.norm.gain.grad, model.norm.shift.grad


def verify(out):
    assert out == (None, None)


TRUTH = Truth(
    fault="the decorator takes gain and shift out of the graph as well",
    names=("gain", "no_grad"),
    repair=("",),
)
