"""Causal inference (TARNet): predictions (N, 1) minus outcomes (N,) broadcast to N x N, each patient is fitted to all outcomes."""

import torch
from torch import nn

from tests.practice.truth import Truth


class TARNet(nn.Module):
    def __init__(self, covariates=6, hidden=16):
        super().__init__()
        self.representation = nn.Sequential(nn.Linear(covariates, hidden), nn.ELU())
        self.control = nn.Linear(hidden, 1)
        self.treated = nn.Linear(hidden, 1)

    def forward(self, x):
        phi = self.representation(x)
        return self.control(phi), self.treated(phi)

    def factual(self, x, t):
        y0, y1 = self(x)
        return torch.where(t[:, None] > 0.5, y1, y0)  # also


def weighted_error(predicted, outcome, weight):
    return (weight * (predicted - outcome) ** 2).mean()  # cause


def trial(n):
    x = torch.randn(n, 6)
    t = (torch.rand(n) < torch.sigmoid(x[:, 0])).float()
    y = 3 * x[:, 1] + 2 * t + 0.1 * torch.randn(n)
    propensity = torch.sigmoid(x[:, 0])
    weight = torch.where(t > 0.5, 1 / propensity, 1 / (1 - propensity)).clamp(max=10)
    return x, t, y, weight / weight.mean()


def run():
    torch.manual_seed(0)
    model = TARNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    x, t, y, weight = trial(64)
    for _ in range(4):
        loss = weighted_error(model.factual(x, t), y, weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    predicted = model.factual(x, t)
    residual = (weight * (predicted.squeeze(-1) - y) ** 2).mean()
    return loss.item(), weighted_error(predicted, y, weight).item(), residual.item()


def verify(outcome):
    _, loss, residual = outcome
    assert abs(loss - residual) > 0.1


TRUTH = Truth(
    fault="the difference of shapes (N, 1) and (N,) is an N x N table",
    names=("predicted", "outcome"),
    repair=("return (weight * (predicted.squeeze(-1) - outcome) ** 2).mean()",),
)
