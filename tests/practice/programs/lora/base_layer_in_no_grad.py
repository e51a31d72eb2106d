"""LoRA: the frozen layer runs under no_grad, and the adapters of the layers below learn through the low rank alone."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        with torch.no_grad():  # cause
            y = self.base(x)
        return y + x @ self.down.t() @ self.up.t()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(LoRALinear(nn.Linear(6, 16)), nn.ReLU(), LoRALinear(nn.Linear(16, 3)))
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-2)
    first = None
    for _ in range(3):
        x, y = torch.randn(12, 6), torch.randint(3, (12,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        first = net[0].up.grad.abs().max().item() if first is None else first
        opt.step()
    return first


def verify(first):
    assert first == 0


TRUTH = Truth(
    fault="no_grad around the frozen layer cuts the way to the adapters below",
    names=("no_grad",),
    minor=True,
    repair=("if True:",),
)
