"""A checkpointed layer counts its calls, and computes the same each time."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.calls = nn.Linear(4, 4), 0

    def forward(self, x):
        self.calls += 1
        return self.a(x).tanh().sigmoid()


def run():
    torch.manual_seed(0)
    net, head = Counting(), nn.Linear(4, 1)
    opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
    for _ in range(2):
        h = checkpoint(net, torch.randn(8, 4), use_reentrant=False)
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()


TRUTH = Truth()
