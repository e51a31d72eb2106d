"""DDPG: a helper for acting adds its noise in place, and the actor's loss uses the helper, too."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, act), nn.Tanh())

    def forward(self, obs, noise=0.0):
        action = self.net(obs)
        if noise > 0:
            action += noise * torch.randn_like(action)  # cause
            action.clamp_(-1.0, 1.0)  # also
        return action


class Critic(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs + act, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], -1))


class Agent:
    def __init__(self, noise=0.1):
        self.actor, self.critic = Actor(), Critic()
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-4)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.noise = noise

    def act(self, obs):
        with torch.no_grad():
            return self.actor(obs, self.noise)

    def update(self, obs, act, rew, nxt):
        with torch.no_grad():
            target = rew + 0.99 * self.critic_target(nxt, self.actor_target(nxt, 0.2))
        critic_loss = F.mse_loss(self.critic(obs, act), target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = -self.critic(obs, self.actor(obs, self.noise)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()  # symptom
        self.actor_opt.step()


def run():
    torch.manual_seed(0)
    agent = Agent()
    obs = torch.randn(16, 4)
    for _ in range(2):
        act = agent.act(obs)
        nxt = obs + 0.1 * torch.randn_like(obs)
        agent.update(obs, act, torch.randn(16, 1), nxt)
        obs = nxt


TRUTH = Truth(
    fault="the output that tanh saved is modified in place",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("tanh",),
    repair=("action = action + noise * torch.randn_like(action)",),
)
