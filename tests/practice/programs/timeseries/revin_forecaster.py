"""Forecasting with reversible instance normalisation: statistics are detached and kept between calls, on purpose: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class RevIN(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma, self.beta = nn.Parameter(torch.ones(features)), nn.Parameter(torch.zeros(features))
        self.mean = self.std = None

    def normalise(self, x):
        self.mean = x.mean(1, keepdim=True).detach()
        self.std = (x.var(1, keepdim=True, unbiased=False) + self.eps).sqrt().detach()
        return (x - self.mean) / self.std * self.gamma + self.beta

    def denormalise(self, y):
        y = (y - self.beta) / (self.gamma + self.eps**2)
        return y * self.std + self.mean


class Decomposition(nn.Module):
    def __init__(self, kernel=5):
        super().__init__()
        self.kernel = kernel

    def forward(self, x):
        pad = self.kernel // 2
        padded = F.pad(x.transpose(1, 2), (pad, pad), mode="replicate")
        trend = F.avg_pool1d(padded, self.kernel, stride=1).transpose(1, 2)
        return x - trend, trend


class DLinear(nn.Module):
    def __init__(self, features=2, context=24, horizon=8):
        super().__init__()
        self.revin, self.split = RevIN(features), Decomposition()
        self.season, self.trend = nn.Linear(context, horizon), nn.Linear(context, horizon)
        nn.init.constant_(self.season.weight, 1 / context)
        nn.init.constant_(self.trend.weight, 1 / context)

    def forward(self, x):
        season, trend = self.split(self.revin.normalise(x))
        y = self.season(season.transpose(1, 2)) + self.trend(trend.transpose(1, 2))
        return self.revin.denormalise(y.transpose(1, 2))


def series(length=200):
    t = torch.arange(length).float()
    clean = torch.stack([torch.sin(t / 5) + t / 50, torch.cos(t / 3) * 2 + 5], -1)
    return clean + 0.1 * torch.randn(length, 2)


def windows(data, n=16, context=24, horizon=8):
    starts = torch.randint(0, len(data) - context - horizon, (n,)).tolist()
    x = torch.stack([data[s : s + context] for s in starts])
    return x, torch.stack([data[s + context : s + context + horizon] for s in starts])


def run():
    torch.manual_seed(0)
    model, data = DLinear(), series()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=4)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    best, best_loss = None, float("inf")
    for _ in range(4):
        model.train()
        x, y = windows(data[:150])
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            vx, vy = windows(data[150:], n=8)
            val = F.mse_loss(model(vx), vy).item()
        if val < best_loss:
            best, best_loss = {k: v.clone() for k, v in model.state_dict().items()}, val
    moved = {n: not torch.equal(before[n], p) for n, p in model.named_parameters()}
    model.load_state_dict(best)
    return moved, best_loss


def verify(outcome):
    moved, best_loss = outcome
    assert all(moved.values()) and best_loss == best_loss


TRUTH = Truth()
