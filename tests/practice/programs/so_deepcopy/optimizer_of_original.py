"""Grid search with copy.deepcopy: the model is copied for each trial, but the optimizer is the one of the template."""

import copy

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, n_in=4, width=16):
        super().__init__()
        self.layer1 = nn.Linear(n_in, width)
        self.layer2 = nn.Linear(width, 1)

    def forward(self, x):
        return self.layer2(torch.tanh(self.layer1(x)))


class Trial:
    """One set of hyperparameters, all trials from the same initial weights."""

    def __init__(self, template, lr, weight_decay):
        self.name = f"lr={lr}, wd={weight_decay}"
        self.model = copy.deepcopy(template)  # also
        self.optimizer = torch.optim.AdamW(template.parameters(), lr=lr, weight_decay=weight_decay)  # cause
        self.losses = []

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())
        return self


def grid(**axes):
    combos = [{}]
    for key, values in axes.items():
        combos = [{**c, key: v} for c in combos for v in values]
    return combos


def run():
    torch.manual_seed(0)
    x = torch.randn(30, 4)
    y = (x[:, :1] > 0).float() + x[:, 1:2]
    template = Net()
    results = []
    for params in grid(lr=[1e-2, 1e-3], weight_decay=[0.0]):
        results.append(Trial(template, **params).fit(x, y, 3))
    best = min(results, key=lambda t: t.losses[-1])
    return [t.losses for t in results], best.name


def verify(outcome):
    losses, _ = outcome
    assert all(len(set(row)) == 1 for row in losses), losses


TRUTH = Truth(
    fault="the optimizer holds the parameters of the template; the deep copy that is trained is in no optimizer",
    names=("deepcopy",),
    repair=("self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr, weight_decay=weight_decay)",),
)
