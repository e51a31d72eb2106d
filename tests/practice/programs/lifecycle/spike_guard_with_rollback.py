"""Spike guard: the norm is looked at before the step, refused batches are cleared, weights and Adam rolled back together."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.a = nn.Linear(dim, 16)
        self.b = nn.Linear(16, 1)

    def forward(self, x):
        return self.b(F.silu(self.a(x))).squeeze(-1)


class Guard:
    def __init__(self, model, optimizer, factor=8.0, patience=2):
        self.model, self.optimizer = model, optimizer
        self.factor, self.patience = factor, patience
        self.typical, self.bad, self.refused, self.rollbacks = None, 0, 0, 0
        self.keep()

    def keep(self):
        self.good = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))

    def step(self):
        norm = nn.utils.get_total_norm([p.grad for p in self.model.parameters()]).item()
        if self.typical is not None and not norm < self.factor * self.typical:
            self.refused += 1
            self.bad += 1
            self.optimizer.zero_grad()
            if self.bad >= self.patience:
                self.model.load_state_dict(self.good[0])
                self.optimizer.load_state_dict(copy.deepcopy(self.good[1]))
                self.rollbacks += 1
                self.bad = 0
            return
        self.typical = norm if self.typical is None else 0.7 * self.typical + 0.3 * norm
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.bad = 0


def stream(faulty):
    g = torch.Generator().manual_seed(8)
    for i in range(7):
        x = torch.randn(12, 6, generator=g)
        y = x[:, 0]
        if i in faulty:
            y = y + 1000.0
        yield x, y


def train(faulty):
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    guard = Guard(model, optimizer)
    for i, (x, y) in enumerate(stream(faulty)):
        F.mse_loss(model(x), y).backward()
        guard.step()
        if i == 2:
            guard.keep()
    steps = {int(s["step"]) for s in optimizer.state.values()}
    return guard.refused, guard.rollbacks, steps, model.state_dict()


def run():
    return train({3, 4}), train(set())


def verify(outcome):
    (refused, rollbacks, steps, model), (none, _, all_steps, _) = outcome
    assert refused == 2 and rollbacks == 1 and steps == {5}
    assert none == 0 and all_steps == {7}
    assert all(torch.isfinite(v).all() for v in model.values())


TRUTH = Truth()
