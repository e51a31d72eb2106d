"""Time series: one minus the gate is worked out in the constructor; the gate learns, the blend stays what it was."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

WINDOW, HORIZON = 12, 3


class Smoother(nn.Module):
    """Exponential smoothing with a learned rate per series."""

    def __init__(self, series):
        super().__init__()
        self.rate = nn.Parameter(torch.full((series,), 0.3))
        self.keep = 1.0 - self.rate  # cause

    def forward(self, x):
        level = x[..., 0]
        levels = [level]
        for t in range(1, x.shape[-1]):
            level = self.rate * x[..., t] + self.keep * level
            levels.append(level)
        return torch.stack(levels, dim=-1)


class Forecaster(nn.Module):
    def __init__(self, series=4):
        super().__init__()
        self.smoother = Smoother(series)
        self.season = nn.Linear(WINDOW, HORIZON)
        self.level = nn.Parameter(torch.ones(HORIZON))

    def forward(self, x):
        s = self.smoother(x)
        return s[..., -1:] * self.level + self.season(x - s)


class Trainer:
    def __init__(self, model, lr=2e-2):
        self.model = model
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=lr)

    def step(self, x, y):
        loss = F.smooth_l1_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            self.model.smoother.rate.clamp_(0.01, 0.99)
        return loss.item()


def series(n=8, count=4):
    t = torch.arange(WINDOW + HORIZON).float()
    base = torch.sin(t / 2)[None, None] + 0.1 * torch.randn(n, count, len(t)).cumsum(-1)
    return base[..., :WINDOW], base[..., WINDOW:]


def run():
    torch.manual_seed(0)
    model = Forecaster()
    trainer = Trainer(model)
    losses = [trainer.step(*series()) for _ in range(4)]
    smoother = model.smoother
    return smoother.rate.detach(), smoother.keep.detach(), losses


def verify(outcome):
    rate, keep, _ = outcome
    assert (rate - 0.3).abs().min() > 1e-3  # it has learned
    assert torch.allclose(keep, torch.full_like(keep, 0.7))


TRUTH = Truth(
    fault="keep is a value of the start: forward goes on using 0.7 while rate changes",
    names=("keep", "rate"),
    repair=("Smoother.keep = property(lambda self: 1.0 - self.rate)",),
)
