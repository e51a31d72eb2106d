"""DDPG: the actions of the actor's loss are clipped by NumPy."""

import copy

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth


class Agent:
    def __init__(self, obs=5, act=2):
        self.actor = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, act))
        self.critic = nn.Sequential(nn.Linear(obs + act, 16), nn.ReLU(), nn.Linear(16, 1))
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), 1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), 1e-3)

    def act(self, obs):
        a = self.actor(obs).detach().numpy()
        return torch.from_numpy(np.clip(a, -1.0, 1.0))  # cause

    def q(self, obs, act):
        return self.critic(torch.cat([obs, act], 1)).squeeze(1)

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            target = r + 0.99 * self.critic_target(torch.cat([s2, self.act(s2)], 1)).squeeze(1)
        critic_loss = (self.q(s, a) - target).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = -self.q(s, self.act(s)).mean()  # also
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()


def run():
    torch.manual_seed(0)
    agent = Agent()
    before = agent.actor[0].weight.detach().clone()
    for _ in range(3):
        agent.learn(torch.randn(8, 5), torch.rand(8, 2) * 2 - 1, torch.randn(8), torch.randn(8, 5))
    return agent, before


def verify(out):
    agent, before = out
    assert torch.equal(agent.actor[0].weight, before)


TRUTH = Truth(
    fault="the actor gets no gradient: its actions go through NumPy",
    names=("actor",),
    repair=("return self.actor(obs).clamp(-1.0, 1.0)",),
)
