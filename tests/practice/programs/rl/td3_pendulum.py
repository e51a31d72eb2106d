"""TD3 with twin critics: the soft update of the target networks changes nothing."""

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


@dataclass
class Config:
    obs: int = 3
    act: int = 1
    gamma: float = 0.99
    tau: float = 0.05
    policy_noise: float = 0.2
    noise_clip: float = 0.5
    policy_delay: int = 2


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


class Critic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.q1 = mlp(cfg.obs + cfg.act, 1)
        self.q2 = mlp(cfg.obs + cfg.act, 1)

    def forward(self, s, a):
        sa = torch.cat([s, a], dim=-1)
        return self.q1(sa), self.q2(sa)


class TD3:
    def __init__(self, cfg):
        self.cfg = cfg
        self.actor = nn.Sequential(mlp(cfg.obs, cfg.act), nn.Tanh())
        self.critic = Critic(cfg)
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.it = 0

    @torch.no_grad()
    def soft_update(self, net, target):
        tau = self.cfg.tau
        for p, tp in zip(net.parameters(), target.parameters()):
            tp = tau * p + (1 - tau) * tp  # cause

    def train(self, s, a, r, s2, done):
        self.it += 1
        with torch.no_grad():
            noise = (torch.randn_like(a) * self.cfg.policy_noise).clamp(-self.cfg.noise_clip, self.cfg.noise_clip)
            a2 = (self.actor_target(s2) + noise).clamp(-1, 1)
            tq1, tq2 = self.critic_target(s2, a2)
            target = r + self.cfg.gamma * (1 - done) * torch.min(tq1, tq2)
        q1, q2 = self.critic(s, a)
        loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()

        if self.it % self.cfg.policy_delay == 0:
            actor_loss = -self.critic(s, self.actor(s))[0].mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()
            self.soft_update(self.actor, self.actor_target)
            self.soft_update(self.critic, self.critic_target)


def run():
    torch.manual_seed(0)
    agent = TD3(Config())
    before = [p.clone() for p in agent.critic_target.parameters()]
    for _ in range(4):
        s, s2 = torch.randn(16, 3), torch.randn(16, 3)
        a, r, done = torch.rand(16, 1) * 2 - 1, torch.randn(16, 1), torch.zeros(16, 1)
        agent.train(s, a, r, s2, done)
    return before, list(agent.critic_target.parameters())


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="the soft update binds a local name; the target networks keep their first weights",
    names=("critic_target", "actor_target"),
    repair=("tp.copy_(tau * p + (1 - tau) * tp)",),
)
