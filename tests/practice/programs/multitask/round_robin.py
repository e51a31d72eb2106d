"""Round-robin training of several heads with one optimizer."""

import itertools

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class MultiHead(nn.Module):
    def __init__(self, tasks, width=16):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(8, width), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(width, out) for name, out in tasks.items()})

    def forward(self, x, task):
        return self.heads[task](self.shared(x))


class RoundRobin:
    def __init__(self, tasks, lr=1e-2):
        self.tasks = tasks
        self.model = MultiHead(tasks)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.drift = []

    def batch(self, task):
        x = torch.randn(12, 8)
        return x, x[:, : self.tasks[task]].sin()

    def step(self, task):
        others = {n: h.weight.detach().clone() for n, h in self.model.heads.items() if n != task}
        x, y = self.batch(task)
        loss = F.mse_loss(self.model(x, task), y)
        self.optimizer.zero_grad(set_to_none=False)  # cause
        loss.backward()
        self.optimizer.step()
        for name, w in others.items():
            self.drift.append((self.model.heads[name].weight - w).abs().max().item())
        return loss.item()

    def fit(self, steps):
        order = itertools.cycle(self.tasks)
        return [self.step(next(order)) for _ in range(steps)]


def run():
    torch.manual_seed(0)
    trainer = RoundRobin({"pose": 3, "gaze": 2, "blink": 1})
    trainer.fit(9)
    return trainer.drift


TRUTH = Truth(
    fault="heads without a loss keep zero gradients instead of None and are moved by Adam's momentum",
    names=("set_to_none",),
    repair=("self.optimizer.zero_grad(set_to_none=True)",),
)


def well(out):
    assert max(out) == 0.0


verify = fails(well)
