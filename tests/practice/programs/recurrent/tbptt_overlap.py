"""Truncated BPTT with overlap (k1 < k2): backward through kept steps with retain_graph, one update at the end: healthy."""

from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TruncatedBPTT:
    """Every k1 steps go back k2 steps; states are leaves, and gradients are handed from one to the one before."""

    def __init__(self, cell, readout, optimizer, k1=2, k2=4):
        self.cell, self.readout, self.optimizer, self.k1, self.k2 = cell, readout, optimizer, k1, k2
        self.lengths = []

    def train(self, xs, ys, h):
        states = deque([(None, h)], maxlen=self.k2)
        self.optimizer.zero_grad()
        total = 0.0
        for j, (x, y) in enumerate(zip(xs, ys)):
            state = states[-1][1].detach().requires_grad_()
            new = self.cell(x, state)
            states.append((state, new))
            if (j + 1) % self.k1:
                continue
            loss = F.mse_loss(self.readout(new), y)
            loss.backward(retain_graph=True)
            total += loss.item()
            depth = 1
            for i in range(len(states) - 1, 0, -1):
                leaf, before = states[i][0], states[i - 1]
                if leaf is None or before[0] is None:
                    break
                before[1].backward(leaf.grad, retain_graph=True)
                leaf.grad = None
                depth += 1
            if states[len(states) - depth][0] is not None:
                states[len(states) - depth][0].grad = None
            self.lengths.append(depth)
        nn.utils.clip_grad_norm_([p for g in self.optimizer.param_groups for p in g["params"]], 1.0)
        self.optimizer.step()
        return total, states[-1][1].detach()


class Cell(nn.Module):
    def __init__(self, i=3, dim=10):
        super().__init__()
        self.x, self.h = nn.Linear(i, dim), nn.Linear(dim, dim, bias=False)

    def forward(self, x, h):
        return torch.tanh(self.x(x) + self.h(h))


def direct_gradient(cell, readout, xs, ys, h):
    """The same for a short sequence, in one graph."""
    loss = torch.zeros(())
    for j, (x, y) in enumerate(zip(xs, ys)):
        h = cell(x, h)
        if (j + 1) % 2 == 0:
            loss = loss + F.mse_loss(readout(h), y)
    return torch.autograd.grad(loss, cell.h.weight)[0]


def run():
    torch.manual_seed(0)
    cell, readout = Cell(), nn.Linear(10, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.05)
    trainer = TruncatedBPTT(cell, readout, optimizer)
    before = cell.h.weight.detach().clone()
    h = torch.zeros(4, 10)
    for _ in range(3):
        _, h = trainer.train(torch.randn(8, 4, 3), torch.randn(8, 4, 1), h)
    moved = not torch.equal(before, cell.h.weight)

    xs, ys, h0 = torch.randn(4, 4, 3), torch.randn(4, 4, 1), torch.zeros(4, 10)
    expected = direct_gradient(cell, readout, xs, ys, h0)
    trainer.train(xs, ys, h0)
    got = cell.h.weight.grad
    return (
        moved,
        torch.nn.functional.cosine_similarity(expected.flatten(), got.flatten(), dim=0).item(),
        trainer.lengths,
    )


def verify(outcome):
    moved, cosine, lengths = outcome
    assert moved and cosine > 0.999 and max(lengths) == 4


TRUTH = Truth()
