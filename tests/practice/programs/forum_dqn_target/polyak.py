"""Healthy: DDPG-like agent: deep-copied targets with Polyak updates by .data, frozen critic for the actor's step, noise under no_grad."""

import copy

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], 1)).squeeze(1)


def make_actor():
    return nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())


class DDPG:
    def __init__(self, tau=0.1, gamma=0.9):
        self.actor, self.critic = make_actor(), Critic()
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        for p in [*self.actor_t.parameters(), *self.critic_t.parameters()]:
            p.requires_grad = False
        self.pi_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.q_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-2)
        self.tau, self.gamma = tau, gamma

    def update(self, s, a, r, s2):
        self.q_opt.zero_grad()
        with torch.no_grad():
            y = r + self.gamma * self.critic_t(s2, self.actor_t(s2))
        q_loss = (self.critic(s, a) - y).pow(2).mean()
        q_loss.backward()
        self.q_opt.step()

        for p in self.critic.parameters():
            p.requires_grad = False
        self.pi_opt.zero_grad()
        (-self.critic(s, self.actor(s)).mean()).backward()
        self.pi_opt.step()
        for p in self.critic.parameters():
            p.requires_grad = True

        for net, target in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
            for p, t in zip(net.parameters(), target.parameters()):
                t.data.mul_(1 - self.tau)
                t.data.add_(self.tau * p.data)
        return q_loss.item()


def run():
    torch.manual_seed(0)
    agent = DDPG()
    nets = [agent.actor, agent.critic, agent.actor_t, agent.critic_t]
    before = [[p.detach().clone() for p in n.parameters()] for n in nets]
    for _ in range(4):
        s = torch.randn(16, 3)
        with torch.no_grad():
            a = (agent.actor(s) + 0.1 * torch.randn(16, 1)).clamp(-1, 1)
        agent.update(s, a, -(s[:, 0] + a[:, 0]).pow(2), s + 0.1 * a)
    return [[not torch.equal(x, p) for x, p in zip(b, n.parameters())] for b, n in zip(before, nets)]


def verify(moved):
    assert all(all(m) for m in moved)


TRUTH = Truth()
