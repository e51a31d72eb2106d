"""Time series: the last batches of an epoch do not fill a group; their gradients slip into the first step of the next."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

CONFIG = {"window": 10, "hidden": 12, "batch": 4, "accumulate": 4, "epochs": 2, "lr": 1e-2}


class Forecaster(nn.Module):
    def __init__(self, window, hidden):
        super().__init__()
        self.trend = nn.Linear(window, 1)
        self.season = nn.Sequential(nn.Linear(window, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        return (self.trend(x - mean) + self.season(x - mean) + mean).squeeze(1)


def windows(n, width):
    t = torch.rand(n, 1) * 20 + torch.arange(width + 1)
    y = torch.sin(t) + 0.05 * t + 0.1 * torch.randn_like(t)
    return TensorDataset(y[:, :-1], y[:, -1])


class Logger:
    """Remembers how many micro-batches went into each update."""

    def __init__(self):
        self.batches, self.groups = 0, []

    def backward(self):
        self.batches += 1

    def step(self):
        self.groups.append(self.batches)
        self.batches = 0


def train_epoch(model, optimizer, loader, accumulate, log):
    model.train()
    for i, (x, y) in enumerate(loader):
        loss = F.huber_loss(model(x), y) / accumulate
        loss.backward()
        log.backward()
        if (i + 1) % accumulate == 0:  # cause
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            log.step()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return sum(F.l1_loss(model(x), y).item() for x, y in loader) / len(loader)


def run(cfg=CONFIG):
    torch.manual_seed(0)
    loader = DataLoader(windows(24, cfg["window"]), batch_size=cfg["batch"], shuffle=True)  # 6 batches
    model = Forecaster(cfg["window"], cfg["hidden"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    log = Logger()
    left = []
    for _ in range(cfg["epochs"]):
        train_epoch(model, optimizer, loader, cfg["accumulate"], log)
        left.append(any(p.grad is not None and p.grad.abs().max() > 0 for p in model.parameters()))
        evaluate(model, loader)
    return log.groups, left


def verify(outcome):
    groups, left = outcome
    assert groups == [4, 6]
    assert all(left)


TRUTH = Truth(
    fault="the step needs a full group: the two batches left over are stepped with the next epoch, or never",
    names=("step",),
    repair=("if (i + 1) % accumulate == 0 or i + 1 == len(loader):",),
)
