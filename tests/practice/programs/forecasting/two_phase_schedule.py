"""A forecaster first trains its heads, then all of it, under one step schedule."""

import torch
from torch import nn

from tests.practice.truth import Truth


class TCNBlock(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(channels, channels, 3, dilation=dilation)

    def forward(self, x):
        return x + torch.relu(self.conv(nn.functional.pad(x, (self.pad, 0))))


class TCNForecaster(nn.Module):
    def __init__(self, channels=8, horizon=3):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 1)
        self.trunk = nn.Sequential(*[TCNBlock(channels, d) for d in (1, 2, 4)])
        self.head = nn.Linear(channels, horizon)

    def forward(self, series):
        return self.head(self.trunk(self.stem(series[:, None]))[..., -1])


class Experiment:
    def __init__(self, model):
        self.model = model
        model.stem.requires_grad_(False)
        model.trunk.requires_grad_(False)
        self.configure(lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=1, gamma=0.5)

    def configure(self, lr):
        self.optimizer = torch.optim.Adam([p for p in self.model.parameters() if p.requires_grad], lr=lr)

    def unfreeze(self):
        self.model.requires_grad_(True)
        self.configure(lr=0.002)  # cause

    def epoch(self, data):
        for x, y in data:
            loss = nn.functional.huber_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.scheduler.step()  # symptom
        return loss.item()


def run(warm=1, full=3):
    torch.manual_seed(0)
    data = []
    for _ in range(3):
        t = torch.rand(6, 1) * 5 + torch.arange(15) * 0.3
        series = torch.sin(t) + 0.05 * t
        data.append((series[:, :12], series[:, 12:]))
    experiment = Experiment(TCNForecaster())
    rates = []
    for epoch in range(warm + full):
        if epoch == warm:
            experiment.unfreeze()
        loss = experiment.epoch(data)
        rates.append(experiment.optimizer.param_groups[0]["lr"])
        print(f"epoch {epoch} loss {loss:.4f} lr {experiment.scheduler.get_last_lr()[0]:.5f}")
    return rates


def verify(rates):
    assert rates[1] == rates[2] == rates[3] == 0.002


TRUTH = Truth(
    fault="the optimizer is made anew and the scheduler still turns the rate of the old one",
    names=("scheduler", "optimizer"),
    repair=(
        "self.configure(lr=0.002)\n"
        "self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=1, gamma=0.5)",
    ),
)
