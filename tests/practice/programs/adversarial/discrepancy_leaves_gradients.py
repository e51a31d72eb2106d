"""Maximum classifier discrepancy: what the classifiers' turn leaves in the generator is in the generator's step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def discrepancy(a, b):
    return (a.softmax(-1) - b.softmax(-1)).abs().mean()


class Solver:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 12), nn.ReLU())
        self.C1, self.C2 = nn.Linear(12, 3), nn.Linear(12, 3)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=2e-4, weight_decay=5e-4)
        self.opt_c = torch.optim.Adam([*self.C1.parameters(), *self.C2.parameters()], lr=2e-4, weight_decay=5e-4)
        self.left_over = []

    def reset(self):
        self.opt_g.zero_grad()
        self.opt_c.zero_grad()

    def supervised(self, x, y):
        h = self.G(x)
        return F.cross_entropy(self.C1(h), y) + F.cross_entropy(self.C2(h), y)

    def both(self, x):
        h = self.G(x)
        return self.C1(h), self.C2(h)

    def train(self, source, labels, target):
        self.reset()
        self.supervised(source, labels).backward()
        self.opt_g.step()
        self.opt_c.step()

        self.reset()
        loss = self.supervised(source, labels) - discrepancy(*self.both(target))
        loss.backward()  # cause
        self.opt_c.step()

        for _ in range(2):
            loss = discrepancy(*self.both(target))
            (alone,) = torch.autograd.grad(loss, self.G[0].weight, retain_graph=True)
            loss.backward()  # also
            self.left_over.append(not torch.allclose(alone, self.G[0].weight.grad))
            self.opt_g.step()
            self.reset()


def run(steps=3):
    torch.manual_seed(0)
    solver = Solver()
    for _ in range(steps):
        solver.train(torch.randn(8, 6), torch.randint(0, 3, (8,)), torch.randn(8, 6) + 0.5)
    return solver.left_over


def verify(left_over):
    assert all(left_over[::2]) and not any(left_over[1::2])


TRUTH = Truth(
    fault="the generator's first step of the third turn also takes the gradient of the second turn's loss",
    names=("zero_grad",),
    repair=("loss.backward(inputs=[*self.C1.parameters(), *self.C2.parameters()])",),
)
