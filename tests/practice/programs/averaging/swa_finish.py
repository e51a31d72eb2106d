"""Stochastic weight averaging with recomputed batch norm statistics."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).mean((2, 3)))


class SWATrainer:
    def __init__(self, model, swa_start, swa_lr=0.02):
        self.model, self.averaged, self.swa_start = model, AveragedModel(model), swa_start
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.decay = torch.optim.lr_scheduler.ExponentialLR(self.opt, 0.8)
        self.swa_sched = SWALR(self.opt, swa_lr=swa_lr, anneal_epochs=2)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                loss = F.cross_entropy(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            if epoch >= self.swa_start:
                self.averaged.update_parameters(self.model)
                self.swa_sched.step()
            else:
                self.decay.step()
        update_bn((x for x, _ in loader), self.averaged)
        return self.averaged.eval()


def run():
    torch.manual_seed(0)
    loader = [(torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))) for _ in range(3)]
    averaged = SWATrainer(ConvNet(), swa_start=2).fit(loader, epochs=5)
    net = averaged.module
    with torch.no_grad():
        want = torch.stack([net.conv(x).mean((0, 2, 3)) for x, _ in loader]).mean(0)
    return int(averaged.n_averaged), net.bn.running_mean.clone(), want


TRUTH = Truth()


def verify(out):
    n, got, want = out
    assert n == 3 and torch.allclose(got, want, atol=1e-6)
