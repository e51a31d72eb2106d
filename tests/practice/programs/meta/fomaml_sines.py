"""First-order MAML on sines: gradients of an adapted copy are written into the meta model by hand: healthy."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Regressor(nn.Sequential):
    def __init__(self, hidden=24):
        super().__init__(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))


class SineTasks:
    def __init__(self, shots=10):
        self.shots = shots

    def sample(self):
        amplitude, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * math.pi
        x = torch.rand(2 * self.shots, 1) * 10 - 5
        y = amplitude * torch.sin(x + phase)
        return (x[: self.shots], y[: self.shots]), (x[self.shots :], y[self.shots :])


def adapt(model, support, lr, steps):
    learner = copy.deepcopy(model)
    inner = torch.optim.SGD(learner.parameters(), lr=lr)
    for _ in range(steps):
        inner.zero_grad()
        F.mse_loss(learner(support[0]), support[1]).backward()
        inner.step()
    return learner


def meta_step(model, meta_opt, tasks, batch=3, lr=0.01, inner_steps=2):
    meta_opt.zero_grad(set_to_none=True)
    total = 0.0
    for _ in range(batch):
        support, query = tasks.sample()
        learner = adapt(model, support, lr, inner_steps)
        loss = F.mse_loss(learner(query[0]), query[1])
        grads = torch.autograd.grad(loss, list(learner.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), grads):
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                p.grad.add_(g, alpha=1 / batch)
        total += loss.item() / batch
    nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    meta_opt.step()
    return total


def run():
    torch.manual_seed(0)
    model = Regressor()
    meta_opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    tasks = SineTasks()
    before = [p.detach().clone() for p in model.parameters()]
    losses = [meta_step(model, meta_opt, tasks) for _ in range(4)]
    return losses, before, [p.detach() for p in model.parameters()]


def verify(outcome):
    losses, before, after = outcome
    assert all(math.isfinite(x) for x in losses)
    assert all(not torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth()
