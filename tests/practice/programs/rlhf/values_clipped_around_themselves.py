"""PPO's value clip: the old values are those of this very forward, with the graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    states, returns = torch.randn(8, 4), torch.randn(8)
    for _ in range(2):
        values = critic(states).squeeze(-1)
        old_values = values  # cause
        clipped = old_values + (values - old_values).clamp(-0.2, 0.2)  # also
        loss = torch.max((values - returns).pow(2), (clipped - returns).pow(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (values - old_values).abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="the clip compares the values with themselves",
    minor=True,
    repair=("old_values = returns.detach()",),
)
