"""Semi-gradient SARSA: one network gives the value and, under no_grad, its own target."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    target = q
    opt = torch.optim.RMSprop(q.parameters(), 1e-3)
    for _ in range(4):
        s, n, r = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        a, b = torch.randint(2, (8,)), torch.randint(2, (8,))
        with torch.no_grad():
            y = r + 0.9 * target(n).gather(1, b[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return q


TRUTH = Truth()
