"""A layer counts its forwards, and the recomputation takes the other branch."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Alternating(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.calls = nn.Linear(4, 4), 0

    def forward(self, x):
        self.calls += 1
        h = self.a(x)
        if self.calls % 2:
            h = h.tanh()  # cause
        return h.sigmoid()


def run():
    torch.manual_seed(0)
    net, head = Alternating(), nn.Linear(4, 1)
    opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
    for _ in range(2):
        h = checkpoint(net, torch.randn(8, 4), use_reentrant=False)
        opt.zero_grad()
        head(h).pow(2).mean().backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the recomputation runs other ops",
    raises="torch.utils.checkpoint: A different number of tensors",
    names=("tanh",),
    repair=("pass",),
)
