"""A learned optimizer: its updates are added to the optimizee's `.data`, so the meta loss does not know of them."""

import torch
from torch import nn

from tests.practice.truth import Truth


class LearnedOptimizer(nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.cell = nn.LSTMCell(2, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, grad, state):
        scaled = torch.stack([grad.abs().clamp_min(1e-8).log() / 10, grad.sign()], -1)
        state = self.cell(scaled, state)
        return 0.1 * self.out(state[0]).squeeze(-1), state


class Quadratic:
    def __init__(self, dim=6):
        self.w, self.y = torch.randn(dim, dim), torch.randn(dim)
        self.theta = torch.zeros(dim, requires_grad=True)

    def loss(self):
        return (self.w @ self.theta - self.y).pow(2).mean()


def unroll(optimizer, steps=5):
    task = Quadratic()
    state, total = None, 0.0
    for _ in range(steps):
        loss = task.loss()
        total = total + loss
        grad = torch.autograd.grad(loss, task.theta, retain_graph=True)[0]
        update, state = optimizer(grad.detach(), state)
        task.theta.data.add_(update)  # cause
    return total / steps


def run():
    torch.manual_seed(0)
    optimizer = LearnedOptimizer()
    meta = torch.optim.Adam(optimizer.parameters(), lr=1e-3)
    for _ in range(2):
        meta.zero_grad()
        unroll(optimizer).backward()
        nn.utils.clip_grad_norm_(optimizer.parameters(), 1.0)
        meta.step()
    return optimizer.out.weight.grad


def verify(out):
    assert out is None


TRUTH = Truth(
    fault="writing to .data leaves the graph: the learned optimizer gets no gradient",
    names=(".data",),
    repair=("task.theta = task.theta + update",),
)
