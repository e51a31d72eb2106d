"""Centre loss: the centres have an optimizer of their own, and their gradient is divided by the loss's weight."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CentreLoss(nn.Module):
    def __init__(self, classes=4, features=6):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(classes, features))

    def forward(self, features, labels):
        distances = torch.cdist(features, self.centres).pow(2)
        own = F.one_hot(labels, len(self.centres)).bool()
        return distances[own].clamp(1e-12, 1e12).mean()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 6))
        self.classifier = nn.Linear(6, 4)

    def forward(self, x):
        features = self.body(x)
        return features, self.classifier(features)


def epoch(model, criterion, opt_model, opt_centre, weight=0.05):
    for _ in range(3):
        y = torch.randint(0, 4, (12,))
        x = torch.randn(12, 9) + y.unsqueeze(1)
        features, logits = model(x)
        loss = F.cross_entropy(logits, y) + weight * criterion(features, y)
        opt_model.zero_grad()
        opt_centre.zero_grad()
        loss.backward()
        opt_model.step()
        for param in criterion.parameters():
            param.grad.data *= 1.0 / weight
        opt_centre.step()


def run(epochs=2):
    torch.manual_seed(0)
    model, criterion = Embedder(), CentreLoss()
    opt_model = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=5e-4, momentum=0.9)
    opt_centre = torch.optim.SGD(criterion.parameters(), lr=0.2)
    start = criterion.centres.detach().clone()
    for _ in range(epochs):
        epoch(model, criterion, opt_model, opt_centre)
    return criterion.centres, start


TRUTH = Truth()


def verify(out):
    assert not torch.equal(*out)
