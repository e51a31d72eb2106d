"""DDPG: a copied line gives the actor's optimizer the critic's parameters."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
    critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
    actor_opt = torch.optim.Adam(critic.parameters(), lr=1e-4)  # cause
    start = actor[0].weight.detach().clone()
    for _ in range(3):
        s, a, r = torch.randn(12, 3), torch.rand(12, 1) * 2 - 1, torch.randn(12, 1)
        critic_opt.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([s, a], 1)), r).backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-critic(torch.cat([s, actor(s)], 1)).mean()).backward()
        actor_opt.step()
    return torch.equal(actor[0].weight, start)


def verify(same):
    assert same


TRUTH = Truth(
    fault="the actor is in no optimizer",
    names=("actor",),
    repair=("actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-4)",),
)
