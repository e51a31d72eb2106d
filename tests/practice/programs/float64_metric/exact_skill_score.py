"""A metric of a weather model is computed in double precision, which it asks for by the default of the process."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class DepthwiseBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dw, self.pw1 = nn.Conv2d(width, width, 3, padding=1, groups=width), nn.Conv2d(width, 2 * width, 1)
        self.pw2 = nn.Conv2d(2 * width, width, 1)

    def forward(self, x):
        return x + self.pw2(F.gelu(self.pw1(self.dw(x))))


class Forecaster(nn.Module):
    def __init__(self, fields=3, width=8):
        super().__init__()
        self.lead = nn.Linear(4, width)
        self.stem, self.block = nn.Conv2d(fields, width, 3, padding=1), DepthwiseBlock(width)
        self.out = nn.Conv2d(width, fields, 1)

    def forward(self, state, lead_hours):
        freqs = 2 * torch.pi / torch.tensor([24.0, 120.0])
        phase = lead_hours[:, None] * freqs
        h = self.stem(state) + self.lead(torch.cat([phase.sin(), phase.cos()], -1))[:, :, None, None]  # symptom
        return state + self.out(self.block(h))


def latitude_weights(n):
    lat = torch.linspace(-80, 80, n).deg2rad().cos()
    return (lat / lat.mean())[:, None]


def anomaly_correlation(pred, target, climatology):
    """Weighted anomaly correlation; sums over large grids are inexact in single precision."""
    torch.set_default_dtype(torch.float64)  # cause
    weight = latitude_weights(pred.size(-2))
    a, b = pred.double() - climatology, target.double() - climatology
    return ((weight * a * b).sum() / ((weight * a * a).sum() * (weight * b * b).sum()).sqrt()).item()


class Trainer:
    def __init__(self, model, lr):
        self.model, self.optimizer = model, torch.optim.AdamW(model.parameters(), lr=lr)
        self.history = []

    def fit_epoch(self, batches):
        self.model.train()
        for state, hours, target in batches:
            loss = (latitude_weights(8) * (self.model(state, hours) - target) ** 2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self, batches):
        self.model.eval()
        scores = [anomaly_correlation(self.model(s, h), t, t.mean()) for s, h, t in batches]
        self.history.append(sum(scores) / len(scores))


def make_batches(n):
    states = [torch.randn(2, 3, 8, 16) for _ in range(n)]
    return [(s, torch.randint(1, 120, (2,)).float(), s.roll(1, -1)) for s in states]


def run():
    torch.manual_seed(0)
    trainer, train, val = Trainer(Forecaster(), 2e-3), make_batches(3), make_batches(1)
    try:
        for _ in range(2):
            trainer.fit_epoch(train)
            trainer.validate(val)
        return trainer.history
    finally:
        torch.set_default_dtype(torch.float32)


TRUTH = Truth(
    fault="the default dtype stays float64 after the metric: the next epoch builds its frequencies in double precision",
    raises="mat1 and mat2 must have the same dtype",
    names=("set_default_dtype", "dtype"),
    repair=("climatology = climatology.double()",),
)
