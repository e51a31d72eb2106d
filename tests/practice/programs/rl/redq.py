"""REDQ: the ensemble of critics is a list times N, so all its members are one and the same network."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class QNet(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(obs_dim + act_dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, obs, act):
        return self.layers(torch.cat([obs, act], -1))


class Ensemble(nn.Module):
    def __init__(self, n, obs_dim=3, act_dim=1):
        super().__init__()
        self.members = nn.ModuleList([QNet(obs_dim, act_dim)] * n)  # cause

    def forward(self, obs, act):
        return torch.stack([q(obs, act) for q in self.members])


def run():
    torch.manual_seed(0)
    critics = Ensemble(4)
    targets = copy.deepcopy(critics).requires_grad_(False)
    actor = nn.Sequential(nn.Linear(3, 1), nn.Tanh())
    critic_opt = torch.optim.Adam(critics.parameters(), lr=1e-3)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    qs = None
    for step in range(4):
        obs, act, rew, nxt = torch.randn(8, 3), torch.rand(8, 1), torch.randn(8, 1), torch.randn(8, 3)
        with torch.no_grad():
            subset = torch.randperm(4)[:2]
            y = rew + 0.99 * targets(nxt, actor(nxt))[subset].min(0).values
        qs = critics(obs, act)
        critic_loss = (qs - y).pow(2).mean(dim=(1, 2)).sum()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        if step % 2 == 1:
            actor_loss = -critics(obs, actor(obs)).mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()
        with torch.no_grad():
            for p, tp in zip(critics.parameters(), targets.parameters()):
                tp.lerp_(p, 0.005)
    return qs.detach()


def verify(qs):
    assert qs.std(0).max() == 0  # four critics, one opinion


TRUTH = Truth(
    fault="the members of the ensemble share one set of weights",
    names=("members",),
    repair=("self.members = nn.ModuleList([QNet(obs_dim, act_dim) for _ in range(n)])",),
)
