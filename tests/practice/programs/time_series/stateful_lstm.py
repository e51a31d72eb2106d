"""Forecasting of a long sensor stream with a stateful LSTM."""

import torch
from torch import nn

from tests.practice.truth import Truth


class StatefulLSTM(nn.Module):
    def __init__(self, n_features=3, hidden=12):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, 1)
        self.state = None

    def reset_state(self):
        self.state = None

    def forward(self, x):
        y, (h, c) = self.lstm(x, self.state)
        self.state = (h.detach(), c)  # cause
        return self.readout(y)


def windows(series, length):
    for start in range(0, series.size(1) - length, length):
        yield series[:, start : start + length], series[:, start + 1 : start + length + 1, :1]


class Forecaster:
    def __init__(self, model, lr=5e-3, clip=1.0):
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.HuberLoss()

    def fit_epoch(self, series, length=10):
        self.model.train()
        self.model.reset_state()
        total = n = 0
        for x, y in windows(series, length):
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()  # symptom
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()
            total, n = total + loss.item(), n + 1
        return total / n


def run():
    torch.manual_seed(0)
    t = torch.arange(61) * 0.3
    series = torch.stack([t.sin(), t.cos(), (2 * t).sin()], -1).repeat(4, 1, 1) + 0.05 * torch.randn(4, 61, 3)
    forecaster = Forecaster(StatefulLSTM())
    return [forecaster.fit_epoch(series) for _ in range(2)]


TRUTH = Truth(
    fault="the cell state carried to the next window is not detached",
    raises="Trying to backward through the graph a second time",
    names=("state",),
    repair=("self.state = (h.detach(), c.detach())",),
)


def well(out):
    assert out[1] < out[0]
