"""ANIL by torch.func: only the head adapts inside, while the body learns from the outer loss alone."""

import torch
from torch import nn
from torch.func import functional_call, grad
from torch.nn import functional as F

from tests.practice.truth import Truth


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
        self.head = nn.Linear(16, 2)
        self.log_lr = nn.Parameter(torch.tensor(-1.0))

    def adapted(self, x, y, steps=2):
        feats = self.body(x)
        head = dict(self.head.named_parameters())

        def inner(params):
            return F.cross_entropy(functional_call(self.head, params, (feats,)), y)

        for _ in range(steps):
            grads = grad(inner)(head)
            head = {k: p - self.log_lr.exp() * grads[k] for k, p in head.items()}
        return head

    def forward(self, x, head):
        return functional_call(self.head, head, (self.body(x),))


def run():
    torch.manual_seed(0)
    learner = Learner()
    optimizer = torch.optim.Adam(learner.parameters(), lr=1e-2)
    log = []
    for _ in range(3):
        total = 0.0
        for _ in range(4):
            w = torch.randn(5)
            x = torch.randn(16, 5)
            y = (x @ w > 0).long()
            head = learner.adapted(x[:8], y[:8])
            total = total + F.cross_entropy(learner(x[8:], head), y[8:]) / 4
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        log.append((total.item(), learner.log_lr.exp().item()))
    return learner, log


TRUTH = Truth()


def verify(out):
    learner, log = out
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in learner.parameters())
    assert log[0][1] != log[-1][1] and log[-1][0] < 10
