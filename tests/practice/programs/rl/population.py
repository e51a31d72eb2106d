"""Reinforcement learning: in a population the loser takes over the winner's optimizer by deepcopy, with copies of its weights."""

import copy
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class GaussianPolicy(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 16), nn.Tanh(), nn.Linear(16, act))
        self.log_std = nn.Parameter(torch.zeros(act))

    def forward(self, obs):
        return Normal(self.body(obs), self.log_std.exp())


@dataclass
class Member:
    policy: GaussianPolicy
    optimizer: torch.optim.Optimizer
    score: float = 0.0
    history: list = field(default_factory=list)


def spawn(lr):
    policy = GaussianPolicy()
    return Member(policy, torch.optim.Adam(policy.parameters(), lr=lr))


def bandit_reward(obs, action):
    return -(action - obs[:, :2]).pow(2).sum(-1)


def train(member, steps):
    for _ in range(steps):
        obs = torch.randn(32, 4)
        dist = member.policy(obs)
        action = dist.sample()
        reward = bandit_reward(obs, action)
        advantage = (reward - reward.mean()) / (reward.std() + 1e-8)
        loss = -(dist.log_prob(action).sum(-1) * advantage).mean()
        member.optimizer.zero_grad()
        loss.backward()
        member.optimizer.step()
        member.score = 0.9 * member.score + 0.1 * reward.mean().item()


def exploit(loser, winner):
    loser.policy.load_state_dict(winner.policy.state_dict())
    loser.optimizer = copy.deepcopy(winner.optimizer)  # cause
    loser.score = winner.score


def explore(member, factor):
    for group in member.optimizer.param_groups:
        group["lr"] *= factor


def run():
    torch.manual_seed(0)
    population = [spawn(lr) for lr in (1e-2, 1e-5)]
    for member in population:
        train(member, steps=3)
    winner, loser = population
    exploit(loser, winner)
    explore(loser, 1.2)
    taken_over = [p.detach().clone() for p in loser.policy.parameters()]
    for member in population:
        train(member, steps=3)
    same = [torch.equal(a, p) for a, p in zip(taken_over, loser.policy.parameters())]
    return same, [p.grad.abs().max().item() for p in loser.policy.parameters()]


def verify(outcome):
    same, grads = outcome
    assert all(same)
    assert min(grads) > 0  # and they pile up: nobody clears them


TRUTH = Truth(
    fault="deepcopy of an optimizer copies the parameters it holds: the loser's policy is in no optimizer any more",
    names=("deepcopy",),
    repair=(
        'loser.optimizer = torch.optim.Adam(loser.policy.parameters(), lr=winner.optimizer.param_groups[0]["lr"])\nloser.optimizer.load_state_dict(copy.deepcopy(winner.optimizer.state_dict()))',
    ),
)
