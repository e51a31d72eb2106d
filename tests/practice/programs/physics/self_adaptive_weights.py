"""Self-adaptive PINN: point weights ascend by negated gradients, Adam first and then L-BFGS on the net alone: healthy."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class SineLayer(nn.Module):
    def __init__(self, i, o, omega=3.0):
        super().__init__()
        self.linear, self.omega = nn.Linear(i, o), omega

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


class Field(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(SineLayer(1, hidden), SineLayer(hidden, hidden, 1.0), nn.Linear(hidden, 1))

    def forward(self, x):
        # the boundary condition u(0) = u(1) = 0 is built in
        return x * (1 - x) * self.net(x)


def poisson_residual(model, x):
    u = model(x)
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), x, create_graph=True)
    return ddu + math.pi**2 * torch.sin(math.pi * x)


class SelfAdaptive:
    def __init__(self, model, n=20):
        self.model = model
        self.x = torch.linspace(0.01, 0.99, n).unsqueeze(1).requires_grad_()
        self.weights = nn.Parameter(torch.ones(n, 1))
        self.adam = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.ascent = torch.optim.SGD([self.weights], lr=0.05)
        self.calls = 0

    def loss(self, weights):
        return (weights * poisson_residual(self.model, self.x).square()).mean()

    def adam_step(self):
        self.adam.zero_grad()
        self.ascent.zero_grad()
        loss = self.loss(self.weights)
        loss.backward()
        self.weights.grad.neg_()
        self.adam.step()
        self.ascent.step()
        self.x.grad = None
        return loss.item()

    def polish(self, steps=2):
        lbfgs = torch.optim.LBFGS(self.model.parameters(), max_iter=5, line_search_fn="strong_wolfe")
        fixed = self.weights.detach()

        def closure():
            lbfgs.zero_grad()
            value = self.loss(fixed)
            value.backward()
            self.calls += 1
            return value

        return [lbfgs.step(closure).item() for _ in range(steps)] + [self.loss(fixed).item()]


def run():
    torch.manual_seed(0)
    model = Field()
    trainer = SelfAdaptive(model)
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        trainer.adam_step()
    weights = trainer.weights.detach().clone()
    polished = trainer.polish()
    return before, list(model.parameters()), weights, trainer.weights.detach(), polished, trainer.calls


def verify(outcome):
    before, after, weights, frozen, polished, calls = outcome
    assert all(not torch.equal(b, a) for b, a in zip(before, after))
    assert weights.min() >= 1 and weights.max() > 1 and torch.equal(weights, frozen)
    assert polished[-1] < polished[0] and calls > 4


TRUTH = Truth()
