"""CAVIA: the context that is adapted in the inner loop is carried from task to task with its graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


class ContextNet(nn.Module):
    def __init__(self, context=4):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(1 + context, 24), nn.Linear(24, 1)
        self.context_size = context
        self.reset()

    def reset(self):
        self.context = torch.zeros(self.context_size, requires_grad=True)

    def forward(self, x):
        joined = torch.cat([x, self.context.expand(len(x), -1)], -1)
        return self.fc2(torch.relu(self.fc1(joined)))


def sinusoid():
    amplitude, phase = 0.1 + 4.9 * torch.rand(()), torch.pi * torch.rand(())
    x = 10 * torch.rand(20, 1) - 5
    y = amplitude * torch.sin(x - phase)
    return x[:10], y[:10], x[10:], y[10:]


class Learner:
    def __init__(self, inner_lr=0.5, inner_steps=2):
        self.net = ContextNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.inner_lr, self.inner_steps = inner_lr, inner_steps

    def adapt(self, x, y):
        for _ in range(self.inner_steps):
            loss = (self.net(x) - y).pow(2).mean()
            (grad,) = torch.autograd.grad(loss, self.net.context, create_graph=True)
            self.net.context = self.net.context - self.inner_lr * grad  # cause

    def meta_step(self, tasks=3):
        self.optimizer.zero_grad()
        total = 0.0
        for _ in range(tasks):
            x, y, query, wanted = sinusoid()
            self.adapt(x, y)
            loss = (self.net(query) - wanted).pow(2).mean() / tasks
            loss.backward()  # symptom
            total += loss.item()
        nn.utils.clip_grad_value_(self.net.parameters(), 10.0)
        self.optimizer.step()
        return total


def run(iterations=2):
    torch.manual_seed(0)
    learner = Learner()
    return [learner.meta_step() for _ in range(iterations)]


TRUTH = Truth(
    fault="a task starts from the context, and the graph, of the task before",
    raises="Trying to backward through the graph a second time",
    names=("context",),
    repair=(
        "if _ == 0:\n    self.net.reset()\n    loss = (self.net(x) - y).pow(2).mean()\n"
        "    (grad,) = torch.autograd.grad(loss, self.net.context, create_graph=True)\n"
        "self.net.context = self.net.context - self.inner_lr * grad",
    ),
)
