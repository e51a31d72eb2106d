"""Learning-rate range test: weights are put back afterwards, Adam's moments of the exploded run are not."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TabularNet(nn.Module):
    def __init__(self, features=6, hidden=12):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(-1)


class LRFinder:
    """Leslie Smith's range test: raise the lr each iteration, note the loss, put everything back."""

    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.model_state = copy.deepcopy(model.state_dict())
        self.optim_state = copy.deepcopy(optimizer.state_dict())
        self.history = []

    def range_test(self, batches, start=1e-4, end=1.0):
        steps = len(batches)
        for i, (x, y) in enumerate(batches):
            for group in self.optimizer.param_groups:
                group["lr"] = start * (end / start) ** (i / (steps - 1))
            self.optimizer.zero_grad()
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.history.append(loss.item())

    def reset(self, lr):
        self.model.load_state_dict(self.model_state)  # also
        for group in self.optimizer.param_groups:  # cause
            group["lr"] = lr


def make_batches(n, size=16):
    out = []
    for _ in range(n):
        x = torch.randn(size, 6)
        out.append((x, x[:, 0] - 2 * x[:, 1]))
    return out


def run():
    torch.manual_seed(0)
    model = TabularNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    finder = LRFinder(model, optimizer, F.mse_loss)
    finder.range_test(make_batches(5))
    finder.reset(lr=1e-3)
    model.train()
    for x, y in make_batches(3):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    return [int(s["step"]) for s in optimizer.state.values()]


def verify(outcome):
    # three steps of training, yet Adam counts the five of the range test as well
    assert all(step == 8 for step in outcome)


TRUTH = Truth(
    fault="after the range test the model is restored but the optimizer keeps the moments and step counts of the test",
    names=("optimizer",),
    repair=("self.optimizer.load_state_dict(self.optim_state)\nfor group in self.optimizer.param_groups:",),
)
