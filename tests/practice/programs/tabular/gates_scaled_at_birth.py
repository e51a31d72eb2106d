"""Stochastic feature gates: the Parameter is scaled where it is made, so the module holds a plain tensor."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FeatureGates(nn.Module):
    def __init__(self, features, sigma=0.5):
        super().__init__()
        self.mu = 0.01 * nn.Parameter(torch.randn(features))  # cause
        self.sigma = sigma

    def forward(self, x):
        noise = self.sigma * torch.randn_like(self.mu) if self.training else 0.0
        return x * (self.mu + 0.5 + noise).clamp(0, 1)

    def penalty(self):
        return (0.5 + 0.5 * torch.erf((self.mu + 0.5) / (self.sigma * 2**0.5))).mean()


class Net(nn.Module):
    def __init__(self, features=10):
        super().__init__()
        self.gates = FeatureGates(features)
        self.mlp = nn.Sequential(nn.Linear(features, 32), nn.SELU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.mlp(self.gates(x)).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x = torch.randn(96, 10)
    y = x[:, 0] - 2 * x[:, 1]
    for _ in range(3):
        for batch, target in zip(x.split(32), y.split(32)):
            opt.zero_grad()
            loss = F.mse_loss(model(batch), target) + 0.1 * model.gates.penalty()
            loss.backward()  # symptom
            opt.step()


TRUTH = Truth(
    fault="the product is no Parameter: its graph is freed by the first backward",
    raises="Trying to backward through the graph a second time",
    names=("mu",),
    repair=("self.mu = nn.Parameter(0.01 * torch.randn(features))",),
)
