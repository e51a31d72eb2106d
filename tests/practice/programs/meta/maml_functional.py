"""Meta-learning: MAML with create_graph in the inner loop and functional calls; healthy."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

from tests.practice.truth import Truth


class SineModel(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


class SineTask:
    def __init__(self):
        self.amplitude = 0.1 + 4.9 * torch.rand(1)
        self.phase = math.pi * torch.rand(1)

    def sample(self, k):
        x = torch.rand(k, 1) * 10 - 5
        return x, self.amplitude * torch.sin(x + self.phase)


class MAML:
    def __init__(self, model, inner_lr=0.01, inner_steps=2, first_order=False):
        self.model, self.inner_steps, self.first_order = model, inner_steps, first_order
        self.lrs = {n: nn.Parameter(torch.tensor(inner_lr)) for n, _ in model.named_parameters()}

    def adapt(self, x, y, create_graph=True):
        fast = dict(self.model.named_parameters())
        for _ in range(self.inner_steps):
            loss = F.mse_loss(functional_call(self.model, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=create_graph)
            if self.first_order:
                grads = [g.detach() for g in grads]
            fast = {n: p - self.lrs[n] * g for (n, p), g in zip(fast.items(), grads)}
        return fast

    def outer_loss(self, task):
        fast = self.adapt(*task.sample(8))
        x, y = task.sample(8)
        return F.mse_loss(functional_call(self.model, fast, (x,)), y)

    def evaluate(self, task):
        fast = {n: p.detach() for n, p in self.adapt(*task.sample(8), create_graph=False).items()}
        x, y = task.sample(8)
        with torch.no_grad():
            return F.mse_loss(functional_call(self.model, fast, (x,)), y).item()


def run():
    torch.manual_seed(0)
    maml = MAML(SineModel())
    optimizer = torch.optim.Adam([{"params": list(maml.model.parameters())}, {"params": list(maml.lrs.values()), "lr": 1e-4}], lr=1e-3)
    before = [p.detach().clone() for g in optimizer.param_groups for p in g["params"]]
    curve = []
    for _ in range(3):
        tasks = [SineTask() for _ in range(3)]
        optimizer.zero_grad()
        for task in tasks:
            (maml.outer_loss(task) / len(tasks)).backward()
        grads = [p.grad.clone() for g in optimizer.param_groups for p in g["params"]]
        optimizer.step()
        curve.append(maml.evaluate(SineTask()))
    after = [p.detach().clone() for g in optimizer.param_groups for p in g["params"]]
    return before, after, grads


def verify(outcome):
    before, after, grads = outcome
    assert all(not torch.equal(a, b) for a, b in zip(before, after))
    assert all(torch.isfinite(g).all() for g in grads)


TRUTH = Truth()
