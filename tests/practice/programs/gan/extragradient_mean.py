"""Both players look one step ahead, and step by the sum of the gradients at both places."""

import torch
from torch import nn

from tests.practice.truth import Truth


def game(x, y, data):
    return (x(data) * y(data)).mean() + 0.1 * x(data).pow(2).mean() - 0.1 * y(data).pow(2).mean()


def run():
    torch.manual_seed(0)
    x, y, data = nn.Linear(3, 1), nn.Linear(3, 1), torch.randn(12, 3)
    opts = [torch.optim.SGD(x.parameters(), 0.05), torch.optim.SGD(y.parameters(), 0.05, maximize=True)]
    for _ in range(3):
        for opt in opts:
            opt.zero_grad()
        game(x, y, data).backward()
        here = [[p.detach().clone() for p in player.parameters()] for player in (x, y)]
        for player, sign in ((x, -1), (y, 1)):
            for p in player.parameters():
                p.data.add_(p.grad, alpha=0.05 * sign)
        game(x, y, data).backward()
        for player, values in zip((x, y), here, strict=True):
            for p, value in zip(player.parameters(), values, strict=True):
                p.data.copy_(value)
        for opt in opts:
            opt.step()


TRUTH = Truth()
