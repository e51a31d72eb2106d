"""Embedding model: a torchmetrics metric is used as an auxiliary loss by update() and compute(), which keep no graph."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchmetrics import MeanSquaredError

from tests.practice.truth import Truth


class Projector(nn.Module):
    def __init__(self, n_in, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 24), nn.ReLU(), nn.Linear(24, dim))

    def forward(self, x):
        return self.net(x)


class Student(nn.Module):
    """Classifies, and should align its projection with a given vector."""

    def __init__(self, n_in=6, n_classes=3, dim=5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, 16), nn.ReLU())
        self.classify = nn.Linear(16, n_classes)
        self.project = Projector(16, dim)

    def forward(self, x):
        h = self.trunk(x)
        return self.classify(h), self.project(h)


class AlignmentLoss:
    def __init__(self):
        self.metric = MeanSquaredError()

    def __call__(self, pred, target):
        self.metric.reset()
        pred, target = F.normalize(pred, dim=1), F.normalize(target, dim=1)
        self.metric.update(pred, target)  # also
        return self.metric.compute()  # cause


def run():
    torch.manual_seed(19)
    model = Student()
    align, ce = AlignmentLoss(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    teacher = nn.Linear(6, 5).requires_grad_(False)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    curve = []
    for _ in range(4):
        x = torch.randn(12, 6)
        y = x[:, :3].argmax(1)
        logits, z = model(x)
        aux = align(z, teacher(x))
        loss = ce(logits, y) + 0.5 * aux
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(aux.item())
    frozen = [n for n, p in model.named_parameters() if torch.equal(p, start[n])]
    return frozen, curve


def verify(outcome):
    frozen, _ = outcome
    assert frozen and all(n.startswith("project.") for n in frozen), frozen


TRUTH = Truth(
    fault="Metric.update runs without grad, so compute() gives a constant: the alignment term trains nothing and the projector gets no gradient",
    names=("project",),
    repair=("return self.metric(pred, target)",),
)
