"""MAML on sine waves: the fast weights start from detached copies, so the meta parameters have no gradient."""

import math

import torch
import torch.nn as nn
from torch.func import functional_call

from tests.practice.truth import Truth


class SineNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.l1 = nn.Linear(1, width)
        self.l2 = nn.Linear(width, width)
        self.l3 = nn.Linear(width, 1)

    def forward(self, x):
        return self.l3(torch.tanh(self.l2(torch.tanh(self.l1(x)))))


class SineTask:
    def __init__(self):
        self.amp = torch.empty(1).uniform_(0.1, 5.0)
        self.phase = torch.empty(1).uniform_(0, math.pi)

    def sample(self, k):
        x = torch.empty(k, 1).uniform_(-5, 5)
        return x, self.amp * torch.sin(x + self.phase)


class MAML:
    def __init__(self, net, inner_lr=0.01, inner_steps=2, meta_lr=1e-3):
        self.net = net
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps
        self.opt = torch.optim.Adam(net.parameters(), lr=meta_lr)

    def adapt(self, x, y):
        fast = {n: p.detach().clone().requires_grad_(True) for n, p in self.net.named_parameters()}  # cause
        for _ in range(self.inner_steps):
            loss = nn.functional.mse_loss(functional_call(self.net, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {n: w - self.inner_lr * g for (n, w), g in zip(fast.items(), grads)}
        return fast

    def meta_step(self, tasks):
        outer = 0.0
        for task in tasks:
            fast = self.adapt(*task.sample(5))
            xq, yq = task.sample(10)
            outer = outer + nn.functional.mse_loss(functional_call(self.net, fast, (xq,)), yq)
        self.opt.zero_grad()
        (outer / len(tasks)).backward()
        self.opt.step()
        return outer.item()


def run():
    torch.manual_seed(0)
    net = SineNet()
    maml = MAML(net)
    before = {n: p.detach().clone() for n, p in net.named_parameters()}
    for _ in range(3):
        maml.meta_step([SineTask() for _ in range(2)])
    return {n: (p.detach() - before[n]).abs().max().item() for n, p in net.named_parameters()}, net.l1.weight.grad


def verify(outcome):
    moved, grad = outcome
    assert grad is None
    assert not any(moved.values())


TRUTH = Truth(
    fault="the fast weights are detached copies of the meta parameters, so the outer loss reaches only the copies",
    names=("detach",),
    repair=("fast = {n: p for n, p in self.net.named_parameters()}",),
)
