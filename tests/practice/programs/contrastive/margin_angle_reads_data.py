"""ArcFace: the angle of the target class is computed from the cosine's `.data`, so the positive pair teaches nothing."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ArcMargin(nn.Module):
    def __init__(self, features=8, classes=5, scale=16.0, margin=0.3):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, features))
        nn.init.xavier_uniform_(self.weight)
        self.scale, self.margin = scale, margin
        self.threshold = math.cos(math.pi - margin)

    def forward(self, features, labels):
        cosine = F.linear(F.normalize(features), F.normalize(self.weight))
        target = cosine.gather(1, labels.view(-1, 1))
        angle = torch.acos(target.data.clamp(-1 + 1e-7, 1 - 1e-7))  # cause
        moved = torch.where(target > self.threshold, torch.cos(angle + self.margin), angle.cos() - self.margin)
        return cosine.scatter(1, labels.view(-1, 1), moved) * self.scale


class FaceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.PReLU(), nn.Linear(24, 8))
        self.norm = nn.BatchNorm1d(8)
        self.margin = ArcMargin()

    def forward(self, x, y):
        return self.margin(self.norm(self.body(x)), y)


def run(steps=4):
    torch.manual_seed(0)
    net = FaceNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    sure = []
    for _ in range(steps):
        x, y = torch.randn(16, 10), torch.randint(0, 5, (16,))
        logits = net(x, y)
        logits.retain_grad()
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sure.append(torch.autograd.grad(net(x, y)[range(16), y].sum(), net.margin.weight, allow_unused=True)[0])
    return sure


def verify(sure):
    assert all(g is None or not g.any() for g in sure)


TRUTH = Truth(
    fault="the logit of the right class has no gradient",
    names=("data",),
    repair=("angle = torch.acos(target.clamp(-1 + 1e-7, 1 - 1e-7))",),
)
