"""Activation checkpointing: the block alternates its expert by a counter, which the recomputation moves on."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class RoundRobinExperts(nn.Module):
    """Every call goes to the next expert."""

    def __init__(self, dim, experts=2):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))
        self.calls = 0
        self.step = 0

    def forward(self, x):
        expert = self.experts[self.calls % len(self.experts)]
        self.calls += 1  # cause
        return x + torch.tanh(expert(x)) ** 2


class Model(nn.Module):
    def __init__(self, dim=6, use_checkpoint=True):
        super().__init__()
        self.inp = nn.Linear(dim, dim)
        self.block = RoundRobinExperts(dim)
        self.out = nn.Linear(dim, 1)
        self.use_checkpoint = use_checkpoint

    def forward(self, x, step):
        self.block.step = step
        h = self.inp(x)
        if self.use_checkpoint:
            h = checkpoint(self.block, h, use_reentrant=False)
        else:
            h = self.block(h)
        return self.out(h).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    touched, used = [], []
    for step in range(3):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        count = model.block.calls
        loss = F.mse_loss(model(x, step), x.pow(2).sum(1))
        used.append(count % 2)
        loss.backward()
        grads = [e.weight.grad is not None and e.weight.grad.abs().sum().item() > 0 for e in model.block.experts]
        touched.append(grads)
        optimizer.step()
    return used, touched


def verify(outcome):
    used, touched = outcome
    # always the same expert works, and it learns from the other one's activations
    assert used == [0, 0, 0]
    assert touched == [[True, False]] * 3


TRUTH = Truth(
    fault="forward changes the module's counter; the recomputation in backward runs another expert",
    names=("checkpoint",),
    repair=("self.calls = self.step + 1",),
)
