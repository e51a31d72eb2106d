"""Continuous control (DDPG): the critic is frozen while the actor is stepped, released afterwards; targets move in place. Healthy."""
import copy
from contextlib import contextmanager

import torch
from torch import nn

from tests.practice.truth import Truth


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, outputs))


@contextmanager
def frozen(module):
    flags = [(p, p.requires_grad) for p in module.parameters()]
    module.requires_grad_(False)
    try:
        yield module
    finally:
        for p, flag in flags:
            p.requires_grad_(flag)


class DDPG:
    def __init__(self, state=4, action=2, tau=0.1, gamma=0.9):
        self.actor, self.critic = mlp(state, action), mlp(state + action, 1)
        self.target = copy.deepcopy(nn.ModuleList([self.actor, self.critic])).requires_grad_(False)
        self.opt_actor = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.opt_critic = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.tau, self.gamma = tau, gamma

    def q(self, critic, s, a):
        return critic(torch.cat([s, a], 1)).squeeze(1)

    def update(self, s, a, r, s2):
        y = r + self.gamma * self.q(self.target[1], s2, self.target[0](s2).tanh())
        critic_loss = (self.q(self.critic, s, a) - y).square().mean()
        self.opt_critic.zero_grad()
        critic_loss.backward()
        self.opt_critic.step()
        with frozen(self.critic):
            actor_loss = -self.q(self.critic, s, self.actor(s).tanh()).mean()
            self.opt_actor.zero_grad()
            actor_loss.backward()
            self.opt_actor.step()
        for t, p in zip(self.target.parameters(), [*self.actor.parameters(), *self.critic.parameters()]):
            t.data.mul_(1 - self.tau).add_(p.data, alpha=self.tau)
        return critic_loss.item()


def replay(n):
    s, a = torch.randn(n, 4), 2 * torch.rand(n, 2) - 1
    return s, a, -(s[:, :2] + a).square().sum(1), 0.9 * s


def run():
    torch.manual_seed(0)
    agent = DDPG()
    nets = nn.ModuleList([agent.actor, agent.critic, agent.target])
    start = [p.detach().clone() for p in nets.parameters()]
    batch = replay(64)
    losses = [agent.update(*batch) for _ in range(4)]
    return start, list(nets.parameters()), losses


def verify(outcome):
    start, now, losses = outcome
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert losses[-1] < losses[0]


TRUTH = Truth()
