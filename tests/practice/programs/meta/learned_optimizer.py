"""Learning to learn: the optimizee's parameters are detached in every step, so no loss depends on the learned optimizer."""

import torch
from torch import nn

from tests.practice.truth import Truth


class LSTMOptimizer(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.cell1 = nn.LSTMCell(2, hidden)
        self.cell2 = nn.LSTMCell(hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        self.hidden = hidden

    def initial(self, n):
        return [(torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)) for _ in range(2)]

    def preprocess(self, g, p=10.0):
        small = g.abs() < torch.exp(torch.tensor(-p))
        log = torch.where(small, -torch.ones_like(g), torch.log(g.abs() + 1e-8) / p)
        return torch.stack([log, torch.where(small, g * torch.exp(torch.tensor(p)), g.sign())], 1)

    def forward(self, g, state):
        h1 = self.cell1(self.preprocess(g), state[0])
        h2 = self.cell2(h1[0], state[1])
        return 0.1 * self.out(h2[0]).squeeze(1), [h1, h2]


class Quadratic:
    def __init__(self, n=6):
        self.w, self.y = torch.randn(n, n), torch.randn(n)

    def loss(self, theta):
        return (self.w @ theta - self.y).pow(2).sum()


def run(unroll=4):
    torch.manual_seed(0)
    learned = LSTMOptimizer()
    meta_opt = torch.optim.Adam(learned.parameters(), lr=1e-2)
    for episode in range(2):
        task, theta, state = Quadratic(), torch.randn(6, requires_grad=True), learned.initial(6)
        losses = []
        for _ in range(unroll):
            loss = task.loss(theta)
            losses.append(loss)
            (g,) = torch.autograd.grad(loss, theta, retain_graph=True)
            update, state = learned(g.detach(), state)
            theta = (theta + update).detach().requires_grad_()  # cause
        losses.append(task.loss(theta))
        meta_opt.zero_grad()
        sum(losses).backward()
        meta_opt.step()
        print(f"episode {episode}: {losses[0].item():.3f} -> {losses[-1].item():.3f}")
    return learned


def verify(learned):
    assert all(p.grad is None for p in learned.parameters())


TRUTH = Truth(
    fault="detach cuts the unrolled steps: the learned optimizer gets no gradient",
    names=("theta",),
    repair=("theta = theta + update",),
)
