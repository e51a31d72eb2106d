"""Avalanche-like EWC: the anchor of the penalty is param.data itself, which the optimizer goes on changing."""

from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MTSimpleMLP(nn.Module):
    def __init__(self, dim=8, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Dropout(0.2))
        self.classifier = nn.Linear(16, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def copy_params_dict(model, copy_grad=False):
    if copy_grad:
        return [(k, p.grad.data.clone()) for k, p in model.named_parameters()]
    return [(k, p.data) for k, p in model.named_parameters()]  # cause


class EWCPlugin:
    def __init__(self, ewc_lambda):
        self.ewc_lambda = ewc_lambda
        self.saved_params = defaultdict(dict)
        self.importances = defaultdict(dict)
        self.penalties = []

    def before_backward(self, strategy):
        penalty = torch.zeros(())
        for exp in range(strategy.experience):
            for k, p in strategy.model.named_parameters():
                penalty = penalty + (self.importances[exp][k] * (p - self.saved_params[exp][k]).pow(2)).sum()
        self.penalties.append(penalty.item())
        strategy.loss = strategy.loss + self.ewc_lambda * penalty

    def after_training_exp(self, strategy, data):
        model = strategy.model.eval()
        importances = {k: torch.zeros_like(p) for k, p in model.named_parameters()}
        for x, y in data:
            model.zero_grad()
            F.cross_entropy(model(x), y).backward()
            for k, g in copy_params_dict(model, copy_grad=True):
                importances[k] += g.pow(2) / len(data)
        model.zero_grad()
        self.importances[strategy.experience] = importances
        self.saved_params[strategy.experience] = dict(copy_params_dict(model))


class Naive:
    def __init__(self, model, plugin):
        self.model, self.plugin, self.experience = model, plugin, 0
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(self, data):
        self.model.train()
        for x, y in data:
            self.optimizer.zero_grad()
            self.loss = F.cross_entropy(self.model(x), y)
            self.plugin.before_backward(self)
            self.loss.backward()
            self.optimizer.step()
        self.plugin.after_training_exp(self, data)
        self.experience += 1


def run():
    torch.manual_seed(0)
    plugin = EWCPlugin(ewc_lambda=50.0)
    strategy = Naive(MTSimpleMLP(), plugin)
    for task in range(2):
        strategy.train([(torch.randn(8, 8) + task, torch.randint(2 * task, 2 * task + 2, (8,))) for _ in range(3)])
    return plugin.penalties


def verify(outcome):
    assert outcome == [0.0] * 6


TRUTH = Truth(
    fault="the saved parameters alias the live ones, so the EWC penalty and its gradient are zero throughout",
    names=("saved_params",),
    repair=("return [(k, p.data.clone()) for k, p in model.named_parameters()]",),
)
