"""Behaviour cloning with a squashed Gaussian: some demonstrated actions are exactly 1, whose atanh is infinite."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class TanhNormal:
    def __init__(self, mean, std):
        self.normal = Normal(mean, std)

    def rsample(self):
        z = self.normal.rsample()
        return torch.tanh(z), z

    def log_prob(self, value, pre_tanh=None):
        if pre_tanh is None:
            pre_tanh = torch.atanh(value)  # cause
        log_det = 2 * (0.6931 - pre_tanh - nn.functional.softplus(-2 * pre_tanh))  # also
        return (self.normal.log_prob(pre_tanh) - log_det).sum(-1)  # also


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.mean = nn.Linear(32, 2)
        self.log_std = nn.Linear(32, 2)

    def forward(self, obs):
        h = self.trunk(obs)
        return TanhNormal(self.mean(h), self.log_std(h).clamp(-5, 2).exp())


def demonstrations(n=32):
    obs = torch.randn(n, 5)
    actions = torch.randn(n, 2).clamp(-1, 1)  # also
    return obs, actions


def run(epochs=2):
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    obs, actions = demonstrations()
    history = []
    for _ in range(epochs):
        for start in range(0, len(obs), 16):
            dist = policy(obs[start : start + 16])
            nll = -dist.log_prob(actions[start : start + 16]).mean()
            optimizer.zero_grad()
            nll.backward()
            optimizer.step()
            history.append(nll.item())
    return policy, history


TRUTH = Truth(
    fault="atanh of an action at the edge is infinite",
    raises="Expected parameter loc",
    values=True,
    names=("atanh",),
    repair=("pre_tanh = torch.atanh(value.clamp(-1 + 1e-6, 1 - 1e-6))",),
)
