"""Sanity check 'can it overfit one batch': a copy of the model is trained with the optimizer of the original."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SpeechHead(nn.Module):
    def __init__(self, mel=8, words=5):
        super().__init__()
        self.conv = nn.Conv1d(mel, 16, 3, padding=1)
        self.out = nn.Linear(16, words)

    def forward(self, x):
        return self.out(F.relu(self.conv(x)).amax(-1))


class Experiment:
    def __init__(self, lr=0.05):
        self.model = SpeechHead()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)

    def batch(self, n=8):
        return torch.randn(n, 8, 12), torch.randint(0, 5, (n,))

    def probe_optimizer(self, probe):
        """Same kind, same settings."""
        return self.optimizer  # cause

    def overfit_check(self, steps=4):
        """The real model must stay as it is: work on a copy."""
        probe = copy.deepcopy(self.model)
        optimizer = self.probe_optimizer(probe)
        x, y = self.batch()
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(probe(x), y)
            loss.backward()
            optimizer.step()  # also
            losses.append(loss.item())
        return losses

    def train(self, steps=2):
        for _ in range(steps):
            x, y = self.batch()
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()


def run():
    torch.manual_seed(0)
    experiment = Experiment()
    losses = experiment.overfit_check()
    experiment.train()
    return losses


def verify(outcome):
    # the same loss to the last digit... a check that never could succeed
    assert all(loss == outcome[0] for loss in outcome)


TRUTH = Truth(
    fault="the optimizer holds the original's parameters: the copy gets gradients (never cleared) and no steps",
    names=("probe",),
    repair=("return type(self.optimizer)(probe.parameters(), lr=self.optimizer.param_groups[0]['lr'])",),
)
