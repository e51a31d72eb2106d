"""Rollback after a broken batch: weights come from the snapshot, the optimizer's momentum is NaN and stays so."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Tagger(nn.Module):
    def __init__(self, dim=8, tags=4):
        super().__init__()
        self.lstm = nn.LSTM(dim, 10, batch_first=True)
        self.proj = nn.Linear(10, tags)

    def forward(self, x):
        return self.proj(self.lstm(x)[0])


class Rollback:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.count = 0
        self.keep()

    def keep(self):
        self.good = copy.deepcopy(self.model.state_dict())
        self.good_optimizer = copy.deepcopy(self.optimizer.state_dict())

    def check(self):
        if all(torch.isfinite(p).all() for p in self.model.parameters()):
            self.keep()
            return
        self.count += 1
        self.model.load_state_dict(self.good)  # cause


def corpus():
    g = torch.Generator().manual_seed(2)
    for i in range(4):
        x = torch.randn(3, 6, 8, generator=g)
        if i == 1:
            x[0, 0, 0] = float("nan")
        yield x, torch.randint(0, 4, (3, 6), generator=g)


def run():
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rollback = Rollback(model, optimizer)
    for x, y in corpus():
        optimizer.zero_grad()
        F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
        optimizer.step()
        rollback.check()
    buffers = [optimizer.state[p]["momentum_buffer"] for p in model.parameters()]
    return rollback.count, [bool(b.isnan().any()) for b in buffers]


def verify(outcome):
    count, broken = outcome
    # every batch after the broken one is rolled back as well
    assert count == 3 and all(broken)


TRUTH = Truth(
    fault="the rollback restores the weights but not the optimizer, whose momentum buffers are NaN",
    names=("momentum_buffer",),
    repair=(
        "self.model.load_state_dict(self.good)\nself.optimizer.load_state_dict(copy.deepcopy(self.good_optimizer))",
    ),
)
