"""A warm-up that writes the rate into `optimizer.defaults`, which no group reads any more."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(6, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    moves = []
    for step in range(4):
        optimizer.defaults["lr"] = 1e-4 * (step + 1)  # cause
        before = net.weight.detach().clone()
        optimizer.zero_grad()
        net(torch.randn(8, 6)).pow(2).mean().backward()
        optimizer.step()
        moves.append((net.weight - before).norm().item())
    return moves


def verify(moves):
    assert max(moves) > 1e-2


TRUTH = Truth(
    fault="the rate is written where no group reads it",
    names=("lr",),
    repair=("optimizer.param_groups[0]['lr'] = 1e-4 * (step + 1)",),
)
