"""Probabilistic forecaster with missing values: `where` hides a NaN in the loss, not in the gradient, and a guard skips every step."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SeriesEncoder(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.conv = nn.Conv1d(2, hidden, 3, padding=1)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, values, observed):
        x = torch.stack([values * observed, observed], 1)
        h, _ = self.gru(F.relu(self.conv(x)).transpose(1, 2))
        return h[:, -1]


class Forecaster(nn.Module):
    def __init__(self, hidden=16, horizon=6):
        super().__init__()
        self.encoder = SeriesEncoder(hidden)
        self.log_rate = nn.Linear(hidden, horizon)

    def forward(self, values, observed):
        return self.log_rate(self.encoder(values, observed))


def deviance(log_rate, y, observed):
    """Square root of the Poisson deviance, over the observed counts."""
    rate = log_rate.exp() * observed  # nothing is expected where nothing was seen
    unit = 2 * (torch.xlogy(y, y.clamp(min=1e-9)) - torch.xlogy(y, rate.clamp(min=1e-9)) - (y - rate))
    per_point = torch.where(observed > 0, unit.clamp(min=0).sqrt(), torch.zeros_like(unit))  # cause
    return per_point.sum() / observed.sum()


class GuardedTrainer:
    """Skips the update if the gradient is broken, as is often done with mixed precision."""

    def __init__(self, model, lr=1e-2, max_norm=1.0):
        self.model, self.max_norm = model, max_norm
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.losses = []

    def step(self, past, past_mask, future, future_mask):
        loss = deviance(self.model(past, past_mask), future, future_mask)
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.losses.append(loss.item())
        if torch.isfinite(norm):
            self.optimizer.step()


def counts(n=8, context=12, horizon=6):
    level = torch.rand(n, 1) * 5 + 1
    y = torch.poisson(level.expand(n, context + horizon))
    mask = (torch.rand(n, context + horizon) < 0.8).float()
    y = y * mask
    return y[:, :context], mask[:, :context], y[:, context:], mask[:, context:]


def run():
    torch.manual_seed(0)
    model = Forecaster()
    trainer = GuardedTrainer(model)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    for _ in range(4):
        trainer.step(*counts())
    return trainer.losses, before, model.state_dict()


def verify(outcome):
    losses, before, after = outcome
    assert all(math.isfinite(x) for x in losses)
    assert all(torch.equal(before[k], after[k]) for k in before)


TRUTH = Truth(
    fault="sqrt at zero has an infinite derivative, and where() gives it a zero to multiply: NaN, so every step is skipped",
    values=True,
    names=("sqrt", "where"),
    repair=(
        "safe = torch.where(observed > 0, unit.clamp(min=1e-6), torch.ones_like(unit))\n"
        "per_point = torch.where(observed > 0, safe.sqrt(), torch.zeros_like(unit))",
    ),
)
