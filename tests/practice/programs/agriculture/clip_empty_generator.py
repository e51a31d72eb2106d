"""Crop yield: model.parameters() kept in a variable, used up by the optimizer; clipping then sees no parameters."""

from dataclasses import dataclass

import torch
from torch import nn

from tests.practice.truth import Truth


@dataclass
class Settings:
    bands: int = 7
    weeks: int = 10
    max_norm: float = 0.5
    lr: float = 1e-2
    steps: int = 3


class YieldLSTM(nn.Module):
    """Weekly reflectances of a field -> tonnes a hectare."""

    def __init__(self, cfg):
        super().__init__()
        self.rnn = nn.LSTM(cfg.bands, 12, batch_first=True)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1]).squeeze(-1)


def fields(cfg, n=24):
    x = torch.rand(n, cfg.weeks, cfg.bands)
    return x, 60 + 40 * x.mean((1, 2))


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.params = model.parameters()  # cause
        self.optimizer = torch.optim.SGD(self.params, lr=cfg.lr)
        self.norms = []

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = (self.model(x) - y).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, self.cfg.max_norm)  # also
        total = torch.stack([p.grad.norm() for p in self.model.parameters()]).norm()
        self.norms.append(total.item())
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    cfg = Settings()
    trainer = Trainer(YieldLSTM(cfg), cfg)
    x, y = fields(cfg)
    for _ in range(cfg.steps):
        trainer.step(x, y)
    return trainer.norms, cfg.max_norm


def verify(outcome):
    norms, limit = outcome
    assert max(norms) > 2 * limit


TRUTH = Truth(
    fault="the generator of parameters is empty when clip_grad_norm_ gets it; nothing is clipped",
    names=("clip_grad_norm_", "parameters"),
    repair=("self.params = list(model.parameters())",),
)
