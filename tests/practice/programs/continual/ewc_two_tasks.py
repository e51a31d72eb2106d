"""Elastic weight consolidation: the anchor is a clone with a graph, the penalty's gradient cancels itself."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, width=8, hidden=24, classes=2):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class EWC:
    def __init__(self, model, strength):
        self.model, self.strength = model, strength
        self.anchor, self.fisher = {}, {}

    def consolidate(self, x, y):
        """Remember where the weights stand, and how much the old task minds a change."""
        self.fisher = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}
        for xi, yi in zip(x.split(1), y.split(1)):
            loss = F.nll_loss(F.log_softmax(self.model(xi), -1), yi)
            grads = torch.autograd.grad(loss, list(self.model.parameters()))
            for (n, _), g in zip(self.model.named_parameters(), grads):
                self.fisher[n] += g.square() / len(x)
        self.anchor = {n: p.clone() for n, p in self.model.named_parameters()}  # cause

    def penalty(self):
        total = torch.zeros(())
        for n, p in self.model.named_parameters():
            if n in self.anchor:
                total = total + (self.fisher[n] * (p - self.anchor[n]).square()).sum()
        return 0.5 * self.strength * total


def make_task(direction, n=32):
    x = torch.randn(n, 8)
    return x, (x @ direction > 0).long()


def train_task(model, task, optimizer, ewc, steps=4):
    x, y = task
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) + ewc.penalty()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ewc = EWC(model, strength=10.0)
    first, second = make_task(torch.randn(8)), make_task(torch.randn(8))
    train_task(model, first, optimizer, ewc)
    ewc.consolidate(*first)
    train_task(model, second, optimizer, ewc)

    model.zero_grad(set_to_none=False)
    penalty = ewc.penalty()
    penalty.backward()
    return penalty.item(), max(p.grad.abs().max().item() for p in model.parameters())


def verify(outcome):
    penalty, gradient = outcome
    assert penalty > 0 and gradient < 1e-8


TRUTH = Truth(
    fault="the anchor still depends on the weights (clone without detach): the penalty pulls on both ends alike",
    names=("anchor", "penalty"),
    repair=("self.anchor = {n: p.detach().clone() for n, p in self.model.named_parameters()}",),
)
