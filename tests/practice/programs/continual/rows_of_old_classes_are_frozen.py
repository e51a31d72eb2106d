"""The rows of the classes that were learned before are to be frozen: the flag of a slice cannot be set."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self, features=9, classes=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 18), nn.GELU(), nn.LayerNorm(18))
        self.fc = nn.Linear(18, classes)

    def forward(self, x):
        return self.fc(self.body(x))

    def freeze_old(self, count):
        for parameter in self.body.parameters():
            parameter.requires_grad = False
        self.fc.weight[:count].requires_grad = False  # cause


def train(model, opt, low, high):
    for _ in range(3):
        x, y = torch.randn(12, 9), torch.randint(low, high, (12,))
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


def run():
    torch.manual_seed(0)
    model = Classifier()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, opt, 0, 3)
    model.freeze_old(3)
    train(model, opt, 3, 6)


TRUTH = Truth(
    fault="a slice is no leaf: autograd knows flags of whole tensors only",
    raises="you can only change requires_grad flags of leaf variables",
    names=("fc.weight",),
    repair=("self.fc.weight.register_hook(lambda grad: torch.cat([grad[:count] * 0, grad[count:]]))",),
)
