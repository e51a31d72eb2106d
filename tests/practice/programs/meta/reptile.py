"""Reptile on sine waves."""

import copy
import math

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def sine_task(rng):
    amp = 0.5 + 4 * torch.rand((), generator=rng)
    phase = math.pi * torch.rand((), generator=rng)

    def draw(n):
        x = 10 * torch.rand(n, 1, generator=rng) - 5
        return x, amp * torch.sin(x + phase)

    return draw


class Reptile:
    def __init__(self, inner_lr=0.02, outer_lr=0.1, inner_steps=4):
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        self.inner_lr, self.inner_steps = inner_lr, inner_steps
        self.outer = torch.optim.SGD(self.net.parameters(), lr=outer_lr)

    def adapt(self, task):
        fast = copy.deepcopy(self.net)
        opt = torch.optim.SGD(fast.parameters(), lr=self.inner_lr)
        for _ in range(self.inner_steps):
            x, y = task(10)
            loss = F.mse_loss(fast(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        return fast

    def meta_step(self, tasks):
        self.outer.zero_grad()
        for p in self.net.parameters():
            p.grad = torch.zeros_like(p)
        for task in tasks:
            fast = self.adapt(task)
            for p, q in zip(self.net.parameters(), fast.parameters()):
                p.grad.add_(p.data - q.data, alpha=1 / len(tasks))
        self.outer.step()


def run():
    torch.manual_seed(0)
    rng = torch.Generator().manual_seed(1)
    algo = Reptile()
    start = [p.detach().clone() for p in algo.net.parameters()]
    for _ in range(3):
        algo.meta_step([sine_task(rng) for _ in range(3)])
    return start, list(algo.net.parameters())


TRUTH = Truth()


def verify(out):
    assert all(not torch.equal(a, b) for a, b in zip(*out))
