"""DDPG: the averaging writes the target's weights into the online network."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def mlp(i, o, act=nn.Identity):
    return nn.Sequential(nn.Linear(i, 16), nn.ReLU(), nn.Linear(16, o), act())


@torch.no_grad()
def soft_update(source, target, tau):
    for p, tp in zip(source.parameters(), target.parameters()):
        tp.mul_(1 - tau).add_(p, alpha=tau)  # also


class DDPG:
    def __init__(self):
        self.actor, self.critic = mlp(3, 1, nn.Tanh), mlp(4, 1)
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def update(self, s, a, r, s2):
        with torch.no_grad():
            y = r + 0.99 * self.critic_t(torch.cat([s2, self.actor_t(s2)], -1))
        critic_loss = F.mse_loss(self.critic(torch.cat([s, a], -1)), y)
        self.opt_c.zero_grad()
        critic_loss.backward()
        self.opt_c.step()
        actor_loss = -self.critic(torch.cat([s, self.actor(s)], -1)).mean()
        self.opt_a.zero_grad()
        actor_loss.backward()
        self.opt_a.step()
        soft_update(self.critic_t, self.critic, 0.005)  # cause
        soft_update(self.actor, self.actor_t, 0.005)


def run():
    torch.manual_seed(0)
    agent = DDPG()
    before = agent.critic_t[0].weight.detach().clone()
    for _ in range(4):
        agent.update(torch.randn(8, 3), torch.rand(8, 1), torch.randn(8, 1), torch.randn(8, 3))
    return torch.equal(before, agent.critic_t[0].weight)


TRUTH = Truth(
    fault="source and target are exchanged",
    names=("critic",),
    repair=("soft_update(self.critic, self.critic_t, 0.005)",),
)


def verify(still):
    assert still
