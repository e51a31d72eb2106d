"""TD3 with delayed policy updates and slowly moving targets."""

import copy

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def mlp(i, o, out=None):
    layers = [nn.Linear(i, 24), nn.ReLU(), nn.Linear(24, o)]
    return nn.Sequential(*layers, *([out] if out else []))


class Twin(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.q1, self.q2 = mlp(obs + act, 1), mlp(obs + act, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], -1)
        return self.q1(x), self.q2(x)


class TD3:
    def __init__(self, obs=4, act=2, tau=0.05, delay=2):
        self.actor, self.critic = mlp(obs, act, nn.Tanh()), Twin(obs, act)
        self.actor_t = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_t = copy.deepcopy(self.critic).requires_grad_(False)
        self.a_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.tau, self.delay, self.calls = tau, delay, 0

    def polyak(self):
        with torch.no_grad():
            for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                for p, q in zip(net.parameters(), tgt.parameters()):
                    q.lerp_(p, self.tau)

    def update(self, s, a, r, s2):
        self.calls += 1
        a2 = (self.actor_t(s2) + 0.1 * torch.randn_like(a).clamp(-0.3, 0.3)).clamp(-1, 1)
        y = r + 0.99 * torch.min(*self.critic_t(s2, a2))
        loss = sum(F.mse_loss(q, y) for q in self.critic(s, a))
        self.c_opt.zero_grad()
        loss.backward()
        self.c_opt.step()
        if self.calls % self.delay == 0:
            policy_loss = -self.critic(s, self.actor(s))[0].mean()
            self.a_opt.zero_grad()
            policy_loss.backward()
            self.a_opt.step()
            self.polyak()


def run():
    torch.manual_seed(0)
    algo = TD3()
    first = copy.deepcopy(algo.critic_t.state_dict())
    for _ in range(6):
        algo.update(torch.randn(8, 4), torch.rand(8, 2) * 2 - 1, torch.randn(8, 1), torch.randn(8, 4))
    return first, algo


TRUTH = Truth()


def verify(out):
    first, algo = out
    assert any(not torch.equal(v, first[k]) for k, v in algo.critic_t.state_dict().items())
    assert not any(p.requires_grad for p in algo.actor_t.parameters())
