"""Soft actor-critic with automatic entropy temperature."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, 2 * act))

    def forward(self, obs):
        mu, log_std = self.net(obs).chunk(2, -1)
        dist = Normal(mu, log_std.clamp(-4, 1).exp())
        u = dist.rsample()
        a = torch.tanh(u)
        logp = dist.log_prob(u) - torch.log1p(-a.pow(2) + 1e-6)
        return a, logp.sum(-1)


class SAC:
    def __init__(self, obs=4, act=2, lr=3e-3):
        self.actor = Actor(obs, act)
        self.q = nn.Sequential(nn.Linear(obs + act, 16), nn.ReLU(), nn.Linear(16, 1))
        self.target_entropy = -float(act)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp()  # cause
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=lr)

    def update_actor(self, obs):
        a, logp = self.actor(obs)
        q = self.q(torch.cat([obs, a], -1)).squeeze(-1)
        loss = (self.alpha.detach() * logp - q).mean()
        self.actor_opt.zero_grad()
        loss.backward()
        self.actor_opt.step()
        return logp.detach()

    def update_alpha(self, logp):
        loss = -(self.alpha * (logp + self.target_entropy)).mean()
        self.alpha_opt.zero_grad()
        loss.backward()  # symptom
        self.alpha_opt.step()


def run():
    torch.manual_seed(0)
    sac = SAC()
    for _ in range(3):
        logp = sac.update_actor(torch.randn(16, 4))
        sac.update_alpha(logp)
    return sac.log_alpha.item()


TRUTH = Truth(
    fault="alpha is computed once in the constructor and its graph is used by every update",
    raises="Trying to backward through the graph a second time",
    names=("alpha",),
    repair=("type(self).alpha = property(lambda self: self.log_alpha.exp())",),
)


def well(out):
    assert out != 0.0
