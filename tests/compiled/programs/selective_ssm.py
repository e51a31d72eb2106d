"""Genomics: a selective state space layer whose recurrence is an associative scan, compiled with its projections."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the two sides of the scan's combination are swapped: a state decays by what came before it, not after",
    names=("combine", "associative_scan", "decay"),
    values=True,
    repair=("return left_a * right_a, right_a * left_b + right_b",),
)


def combine(left, right):
    left_a, left_b = left
    right_a, right_b = right
    return left_a * right_a, left_a * right_b + left_b  # cause


def by_scan(decay, drive):
    return associative_scan(combine, (decay, drive), dim=1, combine_mode="generic")[1]


def by_loop(decay, drive):
    state, states = torch.zeros_like(drive[:, 0]), []
    for t in range(drive.shape[1]):
        state = decay[:, t] * state + drive[:, t]
        states.append(state)
    return torch.stack(states, 1)


class Selective(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.embed = nn.Embedding(4, width)
        self.project = nn.Linear(width, 3 * width)
        self.log_a = nn.Parameter(torch.zeros(width))
        self.out = nn.Linear(width, 4)

    def forward(self, bases, recur=by_scan):
        x = self.embed(bases)
        rate, drive, gate = self.project(x).chunk(3, -1)
        delta = F.softplus(rate)
        states = recur(torch.exp(-delta * self.log_a.exp()), delta * drive)
        return self.out(x + F.silu(gate) * states)


def next_base(model, bases, **kwargs):
    return F.cross_entropy(model(bases[:, :-1], **kwargs).flatten(0, 1), bases[:, 1:].flatten())


def setup():
    torch.manual_seed(0)


def run():
    model = Selective()
    compiled = torch.compile(model, backend=BACKEND, dynamic=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    gaps = []
    for _ in range(3):
        bases = torch.randint(4, (6, 13))
        exact = torch.autograd.grad(next_base(model, bases, recur=by_loop), model.log_a)[0]
        loss = next_base(compiled, bases)
        optimizer.zero_grad()
        loss.backward()
        gaps.append(((model.log_a.grad - exact).norm() / exact.norm()).item())  # symptom
        optimizer.step()
    return gaps


def verify(outcome):
    assert min(outcome) > 0.05
