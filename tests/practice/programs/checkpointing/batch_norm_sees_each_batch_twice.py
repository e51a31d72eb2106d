"""Histology: a checkpointed stage with batch norm runs its forward twice, so the running statistics move twice for each batch."""

import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Stage(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class TissueNet(nn.Module):
    def __init__(self, classes=3, use_checkpoint=False):
        super().__init__()
        self.stages = nn.ModuleList([Stage(3, 6), Stage(6, 8)])
        self.head = nn.Linear(8, classes)
        self.use_checkpoint = use_checkpoint

    def run_stage(self, stage, x):
        if not self.use_checkpoint:
            return stage(x)
        return checkpoint(stage, x, use_reentrant=False)  # cause

    def forward(self, x):
        for stage in self.stages:
            x = self.run_stage(stage, x)
        return self.head(x.mean((2, 3)))


def train(model, steps=3):
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = 2 + torch.rand(8, 3, 6, 6), torch.randint(3, (8,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.stages[0].bn.running_mean.clone()


def run():
    torch.manual_seed(0)
    plain = TissueNet()
    saving = copy.deepcopy(plain)
    saving.use_checkpoint = True
    return train(plain), train(saving)


def verify(outcome):
    plain, saving = outcome
    assert not torch.allclose(plain, saving)


TRUTH = Truth(
    fault="the recomputation in the backward updates running_mean and running_var again",
    names=("running_mean", "checkpoint"),
    repair=("return F.relu(stage.bn(checkpoint(stage.conv, x, use_reentrant=False)))",),
)
