"""One optimizer to two, healthy: alternating phases switch requires_grad off and on, the idle optimizer keeps its state and is not stepped."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MixtureModel(nn.Module):
    def __init__(self, features=4, experts=3):
        super().__init__()
        self.gate = nn.Linear(features, experts)
        self.experts = nn.ModuleList(nn.Linear(features, 1) for _ in range(experts))

    def forward(self, x):
        weights = self.gate(x).softmax(dim=-1)
        outputs = torch.cat([expert(x) for expert in self.experts], dim=-1)
        return (weights * outputs).sum(dim=-1)


@contextmanager
def held(module):
    flags = [p.requires_grad for p in module.parameters()]
    module.requires_grad_(False)
    try:
        yield
    finally:
        for p, flag in zip(module.parameters(), flags, strict=True):
            p.requires_grad_(flag)


def phase(model, optimizer, hold, x, y):
    with held(hold):
        loss = F.mse_loss(model(x), y)
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = MixtureModel()
    gate_opt = torch.optim.Adam(model.gate.parameters(), lr=1e-2)
    expert_opt = torch.optim.Adam(model.experts.parameters(), lr=1e-2)
    before = [p.detach().clone() for p in model.parameters()]
    for step in range(4):
        x = torch.randn(16, 4)
        y = x.abs().sum(dim=1)
        if step % 2:
            phase(model, gate_opt, model.experts, x, y)
        else:
            phase(model, expert_opt, model.gate, x, y)
    return before, list(model.parameters())


def verify(outcome):
    before, after = outcome
    assert all(a.requires_grad and not torch.equal(b, a.detach()) for b, a in zip(before, after, strict=True))


TRUTH = Truth()
