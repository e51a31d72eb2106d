"""Adversarial training of a small classifier with PGD examples."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


def make_net():
    return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(24, 3))


class PGD:
    def __init__(self, model, eps=0.1, alpha=0.04, steps=3):
        self.model, self.eps, self.alpha, self.steps = model, eps, alpha, steps

    def __call__(self, x, y):
        delta = torch.zeros_like(x).uniform_(-self.eps, self.eps)
        for _ in range(self.steps):
            delta.requires_grad_(True)
            loss = F.cross_entropy(self.model(x + delta), y)
            loss.backward()  # also
            grad = delta.grad
            delta = (delta.detach() + self.alpha * grad.sign()).clamp(-self.eps, self.eps)
        return (x + delta).clamp(0, 1)


def train(model, loader, lr=0.05):
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    attack = PGD(model)
    seen = []
    for x, y in loader:
        opt.zero_grad()
        x_adv = attack(x, y)  # cause
        loss = F.cross_entropy(model(x_adv), y)
        loss.backward()
        want = torch.autograd.grad(F.cross_entropy(model(x_adv), y), list(model.parameters()))
        seen.append(([p.grad.clone() for p in model.parameters()], want))
        opt.step()
    return seen


def run():
    torch.manual_seed(0)
    model = make_net()
    loader = [(torch.rand(8, 1, 8, 8), torch.randint(0, 3, (8,))) for _ in range(3)]
    return train(model, loader)


TRUTH = Truth(
    fault="gradients of the attack's own backward add to the training gradients",
    names=("attack",),
    repair=("x_adv = attack(x, y)\nopt.zero_grad()",),
)


def well(out):
    for got, want in out:
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(got, want))


verify = fails(well)
