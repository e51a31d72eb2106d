"""SAC with a learned temperature: the optimizer moves log_alpha, the losses go on with the alpha of the first day."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self, obs, act, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU())
        self.mean, self.log_std = nn.Linear(hidden, act), nn.Linear(hidden, act)

    def forward(self, s):
        h = self.body(s)
        dist = Normal(self.mean(h), self.log_std(h).clamp(-5, 2).exp())
        u = dist.rsample()
        logp = dist.log_prob(u) - 2 * (math.log(2) - u - F.softplus(-2 * u))
        return torch.tanh(u), logp.sum(-1, keepdim=True)


class QNet(nn.Module):
    def __init__(self, obs, act, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs + act, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1))


class SAC:
    def __init__(self, obs=4, act=2, lr=3e-2, gamma=0.98, tau=0.02):
        self.gamma, self.tau, self.target_entropy = gamma, tau, -float(act)
        self.actor, self.q = Actor(obs, act), QNet(obs, act)
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp().item()
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=lr)

    def update_critic(self, s, a, r, s2):
        with torch.no_grad():
            a2, logp2 = self.actor(s2)
            target = r + self.gamma * (self.q_target(s2, a2) - self.alpha * logp2)
        loss = F.mse_loss(self.q(s, a), target)
        self.q_opt.zero_grad()
        loss.backward()
        self.q_opt.step()

    def update_actor(self, s):
        a, logp = self.actor(s)
        loss = (self.alpha * logp - self.q(s, a)).mean()
        self.actor_opt.zero_grad()
        loss.backward()
        self.actor_opt.step()
        return logp.detach()

    def update_alpha(self, logp):
        loss = -(self.log_alpha * (logp + self.target_entropy)).mean()
        self.alpha_opt.zero_grad()
        loss.backward()
        self.alpha_opt.step()  # cause

    def update(self, batch):
        self.update_critic(*batch)
        self.update_alpha(self.update_actor(batch[0]))
        with torch.no_grad():
            for p, t in zip(self.q.parameters(), self.q_target.parameters()):
                t.lerp_(p, self.tau)


def run():
    torch.manual_seed(0)
    agent = SAC()
    for _ in range(4):
        s, a = torch.randn(16, 4), torch.rand(16, 2) * 2 - 1
        agent.update((s, a, -s.square().sum(-1, keepdim=True), s + 0.1 * torch.randn_like(s)))
    return agent.alpha, agent.log_alpha.exp().item()


def verify(outcome):
    used, learned = outcome
    assert used == 1.0 and abs(learned - used) > 1e-2


TRUTH = Truth(
    fault="alpha was read from log_alpha once; training log_alpha has no effect on any loss",
    names=("log_alpha", "alpha"),
    repair=("self.alpha_opt.step()\nself.alpha = self.log_alpha.exp().item()",),
)
