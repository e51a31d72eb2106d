"""Reptile: an inner optimizer moves the live weights, the difference becomes .grad, the old weights are put back, then the outer Adam steps."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

INNER_LR, META_LR = 0.1, 1e-2


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1)).double()


def tasks():
    g = torch.Generator().manual_seed(2)
    for _ in range(3):
        yield [(torch.rand(6, 1, generator=g).double(), float(torch.rand((), generator=g))) for _ in range(2)]


def target(x, phase):
    return torch.sin(4 * x + 6 * phase)


class Reptile:
    def __init__(self, net):
        self.net = net
        self.meta = torch.optim.Adam(net.parameters(), lr=META_LR, betas=(0.0, 0.999))

    def episode(self, x, phase):
        start = [p.detach().clone() for p in self.net.parameters()]
        inner = torch.optim.SGD(self.net.parameters(), lr=INNER_LR)
        for _ in range(3):
            inner.zero_grad()
            F.mse_loss(self.net(x), target(x, phase)).backward()
            inner.step()
        delta = [s - p.detach() for s, p in zip(start, self.net.parameters())]
        with torch.no_grad():
            for p, s in zip(self.net.parameters(), start):
                p.copy_(s)
        return delta

    def step(self, batch):
        total = None
        for x, phase in batch:
            delta = self.episode(x, phase)
            total = delta if total is None else torch._foreach_add(total, delta)
        self.meta.zero_grad()  # what the inner loops left behind
        for p, d in zip(self.net.parameters(), total):
            p.grad = d / len(batch) / INNER_LR
        self.meta.step()
        self.meta.zero_grad()


def run():
    learner = Reptile(build())
    start = [p.detach().clone() for p in learner.net.parameters()]
    for batch in tasks():
        learner.step(batch)
    return learner, start


def verify(outcome):
    learner, start = outcome
    w = [s.clone() for s in start]
    v = [torch.zeros_like(s) for s in start]
    for t, batch in enumerate(tasks(), start=1):
        mean = [torch.zeros_like(s) for s in start]
        for x, phase in batch:
            fast = [p.clone().requires_grad_() for p in w]
            for _ in range(3):
                out = torch.tanh(x @ fast[0].T + fast[1]) @ fast[2].T + fast[3]
                grads = torch.autograd.grad((out - target(x, phase)).square().mean(), fast)
                mean = [m + g / 2 for m, g in zip(mean, grads)]  # Reptile's direction is the sum of the inner gradients
                fast = [(p - INNER_LR * g).detach().requires_grad_() for p, g in zip(fast, grads)]
        for i, g in enumerate(mean):
            v[i] = 0.999 * v[i] + 0.001 * g * g
            w[i] = w[i] - META_LR * g / ((v[i] / (1 - 0.999**t)).sqrt() + 1e-8)
    for a, b, s in zip(learner.net.parameters(), w, start):
        assert torch.allclose(a, b, atol=1e-6) and not torch.equal(a, s) and a.grad is None


TRUTH = Truth()
