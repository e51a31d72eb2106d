"""PPO: the last minibatch holds one sample, and the deviation of one advantage is NaN."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Agent(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))
        self.critic = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(act))

    def evaluate(self, obs, action):
        dist = Normal(self.actor(obs), self.log_std.exp())
        return dist.log_prob(action).sum(-1), dist.entropy().sum(-1), self.critic(obs).squeeze(-1)


def standardised(advantages):
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)  # cause


def minibatches(size, batch):
    order = torch.randperm(size)
    for start in range(0, size, batch):
        yield order[start : start + batch]


def collect(agent, steps=17):
    obs = torch.randn(steps, 4)
    with torch.no_grad():
        action = agent.actor(obs) + torch.randn(steps, 2) * agent.log_std.exp()
        logp, _, value = agent.evaluate(obs, action)
    returns = value + torch.randn(steps)
    return obs, action, logp, returns, returns - value


def run(updates=1, epochs=2, clip=0.2):
    torch.manual_seed(0)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)
    for _ in range(updates):
        obs, action, old, returns, advantages = collect(agent)
        for _ in range(epochs):
            for idx in minibatches(len(obs), 8):
                logp, entropy, value = agent.evaluate(obs[idx], action[idx])
                ratio = (logp - old[idx]).exp()
                adv = standardised(advantages[idx])
                surrogate = torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
                loss = -surrogate + 0.5 * (returns[idx] - value).pow(2).mean() - 0.01 * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    return agent


TRUTH = Truth(
    fault="std of one value is NaN",
    raises="Expected parameter loc",
    values=True,
    names=("std",),
    repair=("return (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)",),
)
