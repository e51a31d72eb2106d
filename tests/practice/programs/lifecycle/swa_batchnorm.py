"""Stochastic weight averaging: buffers are not averaged and update_bn is not called, BatchNorm is as it was drawn."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).mean((2, 3)))


class Average(nn.Module):
    """Running mean of the weights of a model."""

    use_buffers = False

    def __init__(self, model):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.count = 0

    @torch.no_grad()
    def update_parameters(self, model):
        self.count += 1
        for a, p in zip(self.module.parameters(), model.parameters()):
            a.lerp_(p, 1 / self.count)  # also

    def forward(self, x):
        return self.module(x)


class SWATrainer:
    def __init__(self, model, loader, start=1):
        self.model, self.loader, self.start = model, loader, start
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.average = Average(model)
        self.schedule = SWALR(self.optimizer, swa_lr=0.05, anneal_epochs=1)

    def epoch(self, index):
        self.model.train()
        for x, y in self.loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()
        if index >= self.start:
            self.average.update_parameters(self.model)
            self.schedule.step()

    def finish(self):
        if self.average.use_buffers:  # cause
            update_bn(self.loader, self.average)
        self.average.eval()
        return self.average


def blobs(n=32):
    y = torch.randint(0, 2, (n,))
    return TensorDataset(3 + torch.randn(n, 1, 6, 6) + y.view(-1, 1, 1, 1), y)


def run():
    torch.manual_seed(0)
    model = ConvNet()
    trainer = SWATrainer(model, DataLoader(blobs(), batch_size=16, shuffle=True))
    for index in range(3):
        trainer.epoch(index)
    final = trainer.finish()
    with torch.no_grad():
        final(torch.randn(4, 1, 6, 6))
    return (
        final.module.bn.num_batches_tracked.item(),
        final.module.bn.running_mean.clone(),
        model.bn.running_mean.clone(),
    )


def verify(outcome):
    seen, averaged, live = outcome
    assert seen == 0 and averaged.abs().max() == 0
    assert live.abs().max() > 0.1


TRUTH = Truth(
    fault="the condition is the wrong way round: without averaged buffers update_bn is needed, running_mean is still zero",
    names=("bn",),
    repair=("if not self.average.use_buffers:",),
)
