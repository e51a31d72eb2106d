"""Dermatology: the frozen backbone is put into eval() once, model.train() of each epoch undoes it and its batch norm's statistics drift."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(8)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x))).mean((2, 3))


class LesionClassifier(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, classes))

    def forward(self, x):
        return self.head(self.backbone(x))

    def freeze_backbone(self):
        self.backbone.requires_grad_(False)
        self.backbone.eval()


def photos(n):
    y = torch.arange(n) % 3
    x = 0.6 + 0.2 * torch.rand(n, 3, 8, 8)
    x[torch.arange(n), y] += 0.3
    return x, y


def train_epoch(model, optimizer, batches):
    model.train()  # cause
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def run():
    torch.manual_seed(0)
    model = LesionClassifier()
    model.freeze_backbone()
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    pretrained = {k: v.clone() for k, v in model.backbone.state_dict().items()}
    for _ in range(2):
        train_epoch(model, optimizer, [photos(12) for _ in range(2)])
        evaluate(model, *photos(12))
    return pretrained, model.backbone.state_dict()


def verify(outcome):
    before, after = outcome
    assert torch.equal(before["conv.weight"], after["conv.weight"])
    assert not torch.equal(before["bn.running_mean"], after["bn.running_mean"])


TRUTH = Truth(
    fault="model.train() turns the frozen backbone's batch norm on again",
    names=("running_mean", "backbone", "train"),
    repair=("model.train()\nmodel.backbone.eval()",),
)
