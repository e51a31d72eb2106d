"""Gradual unfreezing: the optimizer is built anew when the trunk is released, the scheduler goes on turning the old one."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LinearLR

from tests.practice.truth import Truth


class BirdCallNet(nn.Module):
    def __init__(self, mels=12, species=4):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv1d(mels, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten())
        self.head = nn.Linear(8, species)

    def forward(self, x):
        return self.head(self.trunk(x))


class FineTuner:
    def __init__(self, model, lr=0.1, total=6):
        self.model, self.lr = model, lr
        self.model.trunk.requires_grad_(False)
        self.optimizer = self.make_optimizer()
        self.scheduler = LinearLR(self.optimizer, 1.0, 0.1, total_iters=total)
        self.lrs = []

    def make_optimizer(self):
        params = [p for p in self.model.parameters() if p.requires_grad]
        return torch.optim.SGD(params, lr=self.lr, momentum=0.9)

    def unfreeze(self):
        self.model.trunk.requires_grad_(True)
        self.optimizer = self.make_optimizer()  # cause

    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        self.lrs.append(self.optimizer.param_groups[0]["lr"])


def clips(n):
    y = torch.arange(n) % 4
    x = 0.3 * torch.randn(n, 12, 10)
    x[torch.arange(n), y] += 1
    return x, y


def run():
    torch.manual_seed(0)
    tuner = FineTuner(BirdCallNet())
    x, y = clips(24)
    for step in range(6):
        if step == 3:
            tuner.unfreeze()
        tuner.step(x, y)
    return tuner.lrs


def verify(outcome):
    before, after = outcome[:3], outcome[3:]
    assert before[0] > before[-1]
    assert len(set(after)) == 1


TRUTH = Truth(
    fault="the scheduler belongs to the optimizer of before; the new one's learning rate never changes",
    names=("scheduler", "optimizer"),
    repair=(
        'self.optimizer.add_param_group({"params": list(self.model.trunk.parameters()), "lr": self.scheduler.get_last_lr()[0], "initial_lr": self.lr})\nself.scheduler.base_lrs.append(self.lr)',
    ),
)
