"""Forecasting: the windows are scaled in place, and they are views of the series."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from tests.practice.truth import Truth


@dataclass
class NBeatsConfig:
    backcast_length: int = 10
    forecast_length: int = 3
    units: int = 24
    theta: int = 4
    nb_blocks: int = 3
    lr: float = 5e-3
    batch_size: int = 8
    epochs: int = 2


class WindowDataset(Dataset):
    def __init__(self, series, cfg):
        self.series, self.cfg = series, cfg
        self.length = cfg.backcast_length + cfg.forecast_length

    def __len__(self):
        return len(self.series) - self.length + 1

    def __getitem__(self, i):
        window = self.series[i : i + self.length]
        level = window[: self.cfg.backcast_length].abs().amax().clamp(min=1e-3)
        window.div_(level)  # cause
        return window[: self.cfg.backcast_length], window[self.cfg.backcast_length :]


def linspace(b, f):
    grid = torch.arange(-b, f).float() / f
    return grid[:b], grid[b:]


class Block(nn.Module):
    def __init__(self, cfg, kind):
        super().__init__()
        self.kind = kind
        self.fc = nn.Sequential(
            nn.Linear(cfg.backcast_length, cfg.units), nn.ReLU(), nn.Linear(cfg.units, cfg.units), nn.ReLU()
        )
        self.theta_b, self.theta_f = (
            nn.Linear(cfg.units, cfg.theta, bias=False),
            nn.Linear(cfg.units, cfg.theta, bias=False),
        )
        back, fore = linspace(cfg.backcast_length, cfg.forecast_length)
        self.register_buffer("basis_b", self.basis(back, cfg.theta))
        self.register_buffer("basis_f", self.basis(fore, cfg.theta))

    def basis(self, t, n):
        if self.kind == "trend":
            return torch.stack([t**i for i in range(n)])
        return torch.stack(
            [torch.cos(2 * torch.pi * i * t) if i % 2 else torch.sin(2 * torch.pi * (i + 1) * t) for i in range(n)]
        )

    def forward(self, x):
        h = self.fc(x)
        return self.theta_b(h) @ self.basis_b, self.theta_f(h) @ self.basis_f


class NBeatsNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        kinds = ["trend", "seasonality"]
        self.stacks = nn.ModuleList(nn.ModuleList(Block(cfg, kind) for _ in range(cfg.nb_blocks)) for kind in kinds)

    def forward(self, backcast):
        forecast = backcast.new_zeros(len(backcast), self.cfg.forecast_length)
        for stack in self.stacks:
            for block in stack:
                b, f = block(backcast)
                backcast = backcast - b
                forecast = forecast + f
        return backcast, forecast


class Trainer:
    def __init__(self, cfg, dataset):
        self.cfg = cfg
        self.net = NBeatsNet(cfg)
        self.loader = DataLoader(dataset, batch_size=cfg.batch_size, shuffle=True)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)
        self.losses = []

    def smape(self, f, y):
        return (2 * (f - y).abs() / (f.abs() + y.abs() + 1e-3)).mean()

    def fit(self):
        self.net.train()
        for _ in range(self.cfg.epochs):
            for x, y in self.loader:
                residual, forecast = self.net(x)
                loss = self.smape(forecast, y) + 0.01 * residual.pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
                self.optimizer.step()
                self.losses.append(loss.item())
        return self.losses


def make_series(n):
    t = torch.arange(n).float()
    return 20 + 0.3 * t + 5 * torch.sin(t / 3) + torch.randn(n)


def run():
    torch.manual_seed(0)
    cfg = NBeatsConfig()
    series = make_series(36)
    original = series.clone()
    Trainer(cfg, WindowDataset(series, cfg)).fit()
    return original, series


def verify(outcome):
    original, series = outcome
    assert not torch.equal(original, series)
    assert (series.abs() < 0.5 * original.abs()).float().mean() > 0.9


TRUTH = Truth(
    fault="a slice is a view: div_ scales the stored series itself, each overlapping window and epoch once more",
    names=("div_",),
    repair=("window = window / level",),
)
