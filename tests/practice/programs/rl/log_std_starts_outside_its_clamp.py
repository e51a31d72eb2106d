"""The log standard deviation of a policy starts outside the range to which it is clamped."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.log_std = nn.Parameter(torch.full((2,), 0.5))

    def forward(self, s):
        std = self.log_std.clamp(-5.0, 0.0).exp()  # cause
        return Normal(self.mean(s), std)


def run():
    torch.manual_seed(0)
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), 1e-2)
    for _ in range(4):
        dist = policy(torch.randn(16, 4))
        action = dist.sample()
        loss = -(dist.log_prob(action).sum(1) * torch.randn(16)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return policy


def verify(policy):
    assert policy.log_std.grad.abs().max() == 0


TRUTH = Truth(
    fault="clamp gives log_std a gradient of zero",
    values=True,
    names=("log_std", "clamp"),
    repair=("std = self.log_std.exp()",),
)
