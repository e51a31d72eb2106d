"""Population based training: model and optimizer are deep-copied one after the other, the copy of the optimizer has its own parameters."""

import copy
import random

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 2))

    def forward(self, x):
        return self.policy(x)


class Member:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.score = float("-inf")

    def train(self, x, y, steps=2):
        for _ in range(steps):
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.score = -loss.item()

    def exploit(self, winner, factor):
        """Take over the winner's weights and moments, then explore another learning rate."""
        self.model = copy.deepcopy(winner.model)
        self.optimizer = copy.deepcopy(winner.optimizer)  # cause
        for group in self.optimizer.param_groups:
            group["lr"] *= factor


def newcomer(lr):
    model = Agent()
    return Member(model, torch.optim.Adam(model.parameters(), lr=lr))


def run():
    torch.manual_seed(0)
    random.seed(0)
    x = torch.randn(40, 5)
    y = (x[:, 0] > x[:, 1]).long()
    population = [newcomer(lr) for lr in (1e-2, 1e-4)]
    for member in population:
        member.train(x, y)
    population.sort(key=lambda m: m.score)
    loser, winner = population
    loser.exploit(winner, random.choice((0.8, 1.25)))
    taken = [p.detach().clone() for p in loser.model.parameters()]
    loser.train(x, y, steps=3)
    return taken, [p.detach() for p in loser.model.parameters()]


def verify(outcome):
    taken, now = outcome
    assert all(torch.equal(a, b) for a, b in zip(taken, now))


TRUTH = Truth(
    fault="the copied optimizer steps copies of the parameters; the copied model no longer learns",
    names=("deepcopy", "optimizer"),
    repair=("self.model, self.optimizer = copy.deepcopy((winner.model, winner.optimizer))",),
)
