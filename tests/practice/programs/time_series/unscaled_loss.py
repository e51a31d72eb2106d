"""Demand forecast trained on the error in original units."""

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth, fails


class StandardScaler:
    def fit(self, a):
        self.mean_, self.scale_ = a.mean(0), a.std(0) + 1e-9
        return self

    def transform(self, a):
        return (a - self.mean_) / self.scale_

    def inverse_transform(self, a):
        return a * self.scale_ + self.mean_


class DemandNet(nn.Module):
    def __init__(self, lags, horizon):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(lags, 24), nn.ReLU(), nn.Linear(24, horizon))

    def forward(self, x):
        return self.net(x)


def frames(series, lags, horizon):
    n = len(series) - lags - horizon
    x = np.stack([series[i : i + lags] for i in range(n)])
    y = np.stack([series[i + lags : i + lags + horizon] for i in range(n)])
    return x, y


def train(model, x, y, scaler, epochs=3, lr=1e-2):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    x = torch.tensor(scaler.transform(x), dtype=torch.float32)
    y = torch.tensor(y, dtype=torch.float32)
    curve = []
    for _ in range(epochs):
        for idx in torch.arange(len(x)).split(16):
            out = model(x[idx])
            units = scaler.inverse_transform(out.detach().numpy())  # also
            pred = torch.tensor(units, dtype=torch.float32, requires_grad=True)  # cause
            loss = (pred - y[idx]).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        curve.append(loss.item())
    return curve


def run():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    series = 100 + 20 * np.sin(np.arange(90) / 6) + rng.normal(size=90)
    scaler = StandardScaler().fit(series)
    model = DemandNet(8, 3)
    start = [p.detach().clone() for p in model.parameters()]
    train(model, *frames(series, 8, 3), scaler)
    return start, list(model.parameters())


TRUTH = Truth(
    fault="the prediction goes through numpy into a new leaf: the net gets no gradient",
    names=("pred",),
    repair=("pred = out * float(scaler.scale_) + float(scaler.mean_)",),
)


def well(out):
    assert all(not torch.equal(a, b) for a, b in zip(*out))


verify = fails(well)
