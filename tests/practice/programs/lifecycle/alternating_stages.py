"""Cyclic stages: the frozen part keeps the gradient of its last stage and the optimizer goes on applying it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TwoTower(nn.Module):
    def __init__(self, dim=6, out=4):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(dim, 12), nn.Tanh(), nn.Linear(12, out))
        self.document = nn.Sequential(nn.Linear(dim, 12), nn.Tanh(), nn.Linear(12, out))

    def forward(self, q, d):
        return F.normalize(self.query(q), dim=-1) @ F.normalize(self.document(d), dim=-1).T


class Stages:
    """Alternates between the towers, one frozen at a time."""

    order = ("query", "document")

    def __init__(self, model):
        self.model = model

    def enter(self, index):
        active = self.order[index % len(self.order)]
        for name in self.order:
            getattr(self.model, name).requires_grad_(name == active)
        return active

    def trainable(self):
        return [p for p in self.model.parameters() if p.requires_grad]


def clear(params):
    for p in params:
        p.grad = None


def snapshot(module):
    return torch.cat([p.detach().flatten().clone() for p in module.parameters()])


def run():
    torch.manual_seed(0)
    model = TwoTower()
    stages = Stages(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    moved = []
    for stage in range(2):
        active = stages.enter(stage)
        frozen = model.document if active == "query" else model.query
        before = snapshot(frozen)
        for _ in range(2):
            q = torch.randn(8, 6)
            scores = model(q, q + 0.1 * torch.randn_like(q)) / 0.1
            clear(stages.trainable())  # cause
            F.cross_entropy(scores, torch.arange(8)).backward()
            optimizer.step()
        moved.append((snapshot(frozen) - before).abs().max().item())
    return moved


def verify(outcome):
    assert outcome[0] == 0 and outcome[1] > 1e-3


TRUTH = Truth(
    fault="only trainable parameters are cleared, the tower frozen in this stage keeps its old gradient and moves on",
    names=("query",),
    repair=("optimizer.zero_grad()",),
)
