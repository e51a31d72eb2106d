"""Fraud detection: early stopping remembers the live state_dict, so the "best" weights are the last ones."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FraudNet(nn.Module):
    def __init__(self, features=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.best_state = None
        self.bad = 0

    def update(self, value, model):
        if value < self.best:
            self.best = value
            self.best_state = model.state_dict()  # cause
            self.bad = 0
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.best_state)


def validation_loss(model, x, y):
    model.eval()
    with torch.no_grad():
        value = F.binary_cross_entropy_with_logits(model(x), y).item()
    model.train()
    return value


def run():
    torch.manual_seed(0)
    x = torch.randn(96, 10)
    y = (x[:, 0] + 0.5 * torch.randn(96) > 1).float()
    xv, yv = x[64:], y[64:]
    x, y = x[:64], y[:64]
    model = FraudNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=8.0)
    stopper = EarlyStopping(patience=3)
    for _ in range(6):
        if stopper.update(validation_loss(model, xv, yv), model):
            break
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(x), y, pos_weight=torch.tensor(6.0))
        loss.backward()
        optimizer.step()
    promised = stopper.best
    stopper.restore(model)
    return promised, validation_loss(model, xv, yv)


def verify(outcome):
    promised, got = outcome
    assert abs(promised - got) > 1e-4


TRUTH = Truth(
    fault="state_dict() gives references; the best state follows the training",
    names=("state_dict",),
    repair=("self.best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}",),
)
