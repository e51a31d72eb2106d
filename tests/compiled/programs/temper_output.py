"""Attention weights from a compiled function, adjusted outside it."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Pool(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.key = nn.Linear(d, d)
        self.query = nn.Parameter(torch.randn(d))

    def forward(self, x):
        return torch.softmax(torch.tanh(self.key(x)) @ self.query, -1)


def run():
    torch.manual_seed(0)
    pool, head = Pool(), nn.Linear(6, 2)
    weigh = torch.compile(pool, backend=BACKEND)
    opt = torch.optim.Adam([*pool.parameters(), *head.parameters()], lr=1e-2)
    losses = []
    for _ in range(3):
        x = torch.randn(8, 5, 6)
        mask = torch.rand(8, 5) > 0.2
        a = weigh(x)
        a *= mask  # cause
        z = (a.unsqueeze(-1) * x).sum(1)
        loss = nn.functional.cross_entropy(head(z), (x.sum((1, 2)) > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def right(losses):
    assert len(losses) == 3


TRUTH = Truth(
    fault="the compiled function's output, saved for its backward, is changed in place",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    repair=("a = a * mask",),
)
