"""Soft actor-critic: the compiled loss of the actor draws its actions by sample(), so the critic tells it nothing."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.compiled.backend import BACKEND

RULES = "AG104 AG102"
NAMES = ("mu",)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.mu = nn.Sequential(nn.Linear(3, 16), nn.Tanh()), nn.Linear(16, 2)

    def forward(self, s):
        return self.mu(self.body(s))


def setup():
    global actor, critic, optimizer, actor_loss
    torch.manual_seed(0)
    actor = Actor()
    critic = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1)).requires_grad_(False)
    log_std = nn.Parameter(torch.zeros(2))
    actor.register_parameter("log_std", log_std)
    optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)

    @torch.compile(backend=BACKEND)
    def actor_loss(states):
        dist = Normal(actor(states), actor.log_std.exp())
        actions = dist.sample()  # cause
        entropy = dist.entropy().sum(-1, keepdim=True)
        return (-0.2 * entropy - critic(torch.cat([states, actions.tanh()], 1))).mean()


def run():
    for _ in range(2):
        loss = actor_loss(torch.randn(16, 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
