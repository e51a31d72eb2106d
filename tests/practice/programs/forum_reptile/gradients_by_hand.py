"""Healthy: Reptile, where the inner models are deep copies, the meta gradient is written to .grad by hand, and Adam makes the step."""

import copy
import math

import torch
import torch.nn as nn

from tests.practice.truth import Truth


def make_net():
    return nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))


class Task:
    def __init__(self, rng):
        self.a = 0.5 + rng.random() * 2
        self.phi = rng.random() * math.pi

    def batch(self, n):
        x = torch.rand(n, 1) * 6 - 3
        return x, self.a * torch.sin(x + self.phi)


class FakeRandom:
    def __init__(self):
        self.g = torch.Generator().manual_seed(0)

    def random(self):
        return torch.rand((), generator=self.g).item()


def inner_train(model, task, steps, lr):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        x, y = task.batch(10)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def run():
    torch.manual_seed(0)
    rng = FakeRandom()
    meta = make_net()
    meta_opt = torch.optim.Adam(meta.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in meta.parameters()]
    directions = []
    for _ in range(3):
        meta_opt.zero_grad()
        for p in meta.parameters():
            p.grad = torch.zeros_like(p)
        tasks = [Task(rng) for _ in range(2)]
        for task in tasks:
            learner = inner_train(copy.deepcopy(meta), task, steps=3, lr=0.02)
            with torch.no_grad():
                for p, q in zip(meta.parameters(), learner.parameters()):
                    p.grad.add_(p - q, alpha=1 / len(tasks))
        directions.append(sum(p.grad.abs().sum().item() for p in meta.parameters()))
        meta_opt.step()
    return start, list(meta.parameters()), directions


def verify(outcome):
    start, now, directions = outcome
    assert all(d > 0 for d in directions)
    assert all(not torch.equal(a, b) for a, b in zip(start, now))


TRUTH = Truth()
