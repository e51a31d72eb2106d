"""Loop over deepcopies to functional MAML, healthy: inner steps on non-leaf weights with create_graph, and first-order tasks detached on purpose."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class SineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(1, 12)
        self.l2 = nn.Linear(12, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))


def sine_task(points=8):
    amplitude, phase = torch.rand(2) * 2 + 0.5
    x = torch.rand(2 * points, 1) * 6 - 3
    y = amplitude * torch.sin(x + phase)
    return (x[:points], y[:points]), (x[points:], y[points:])


def adapt(model, support, lr=0.05, steps=2, second_order=True):
    weights = dict(model.named_parameters())
    x, y = support
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, weights, (x,)), y)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=second_order)
        if not second_order:
            grads = [g.detach() for g in grads]
        weights = {name: w - lr * g for (name, w), g in zip(weights.items(), grads, strict=True)}
    return weights


def meta_loss(model, second_order):
    support, (x, y) = sine_task()
    weights = adapt(model, support, second_order=second_order)
    return F.mse_loss(functional_call(model, weights, (x,)), y)


def run():
    torch.manual_seed(0)
    model = SineNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        optimizer.zero_grad()
        loss = sum(meta_loss(model, second_order) for second_order in (True, False)) / 2
        loss.backward()
        optimizer.step()
    return before, list(model.parameters())


def verify(outcome):
    before, after = outcome
    assert all(a.grad is not None and not torch.equal(b, a.detach()) for b, a in zip(before, after, strict=True))


TRUTH = Truth()
