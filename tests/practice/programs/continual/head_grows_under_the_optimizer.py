"""Class-incremental learning: the classifier is replaced by a wider one, and the optimizer goes on with the old one."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Incremental(nn.Module):
    def __init__(self, features=10, classes=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 20), nn.BatchNorm1d(20), nn.ReLU())
        self.head = nn.Linear(20, classes)

    def grow(self, extra, opt):
        old = self.head
        new = nn.Linear(old.in_features, old.out_features + extra)
        with torch.no_grad():
            new.weight[: old.out_features] = old.weight
            new.bias[: old.out_features] = old.bias
        self.head = new  # cause

    def forward(self, x):
        return self.head(self.body(x))


def fit(model, opt, x, y):
    for batch, target in zip(x.split(16), y.split(16)):
        opt.zero_grad()
        loss = F.cross_entropy(model(batch), target)
        loss.backward()
        opt.step()


def run():
    torch.manual_seed(0)
    model = Incremental()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)  # also
    fit(model, opt, torch.randn(48, 10), torch.randint(2, (48,)))
    model.grow(2, opt)  # also
    before = model.head.weight.detach().clone()
    fit(model, opt, torch.randn(48, 10) + 1, torch.randint(2, 4, (48,)))
    return before, model.head.weight


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the new head is in no optimizer",
    names=("head",),
    repair=("self.head = new\nopt.add_param_group({'params': list(new.parameters())})",),
)
