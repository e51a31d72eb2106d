"""Early-exit network compiled as one graph."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class EarlyExit(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.first = nn.Linear(d, d)
        self.second = nn.Linear(d, d)
        self.score = nn.Linear(d, 1)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        h = torch.relu(self.first(x))
        s = torch.sigmoid(self.score(h))
        deep = torch.relu(self.second(h))
        if s.mean() > 0.5:  # cause
            h = h + s * deep
        return self.out(h)


def run():
    torch.manual_seed(0)
    model = EarlyExit()
    net = torch.compile(model, backend=BACKEND, fullgraph=True)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        x = torch.randn(16, 8)
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def right(losses):
    assert len(losses) == 2


TRUTH = Truth(
    fault="a branch on a tensor's value inside a fullgraph compile",
    raises="Data-dependent branching",
    repair=("s = torch.where(s.mean() > 0.5, s, torch.zeros_like(s))\nif True:",),
)
