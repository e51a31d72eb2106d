"""JAX to PyTorch: jax.grad(actor_loss, argnums=0) became .backward(), which leaves the actor's gradients in the critic, too."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self, state=6, action=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state, 16), nn.Tanh(), nn.Linear(16, action), nn.Tanh())

    def forward(self, state):
        return self.net(state)


class Critic(nn.Module):
    def __init__(self, state=6, action=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state + action, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], dim=-1)).squeeze(-1)


def critic_loss(critic, batch):
    return F.mse_loss(critic(batch["state"], batch["action"]), batch["return"])


def actor_loss(actor, critic, batch):
    return -critic(batch["state"], actor(batch["state"])).mean()


def update(actor, critic, actor_opt, critic_opt, batch):
    actor_opt.zero_grad()
    actor_loss(actor, critic, batch).backward()  # also
    actor_opt.step()

    critic_loss(critic, batch).backward()  # cause
    used = critic.net[0].weight.grad.clone()
    critic_opt.step()
    critic_opt.zero_grad()
    return used


def sample(size=10):
    state, action = torch.randn(size, 6), torch.rand(size, 2) * 2 - 1
    return {"state": state, "action": action, "return": (state[:, :2] * action).sum(dim=1)}


def run():
    torch.manual_seed(0)
    actor, critic = Actor(), Critic()
    actor_opt = torch.optim.SGD(actor.parameters(), lr=1e-2)
    critic_opt = torch.optim.SGD(critic.parameters(), lr=1e-2)
    gaps = []
    for _ in range(3):
        batch = sample()
        (right,) = torch.autograd.grad(critic_loss(critic, batch), critic.net[0].weight)
        used = update(actor, critic, actor_opt, critic_opt, batch)
        gaps.append(float((used - right).abs().max()))
    return gaps


def verify(gaps):
    assert min(gaps) > 1e-4


TRUTH = Truth(
    fault="the critic is stepped with the actor loss's gradients besides its own: they are not cleared in between",
    names=("critic",),
    repair=("critic_opt.zero_grad()\ncritic_loss(critic, batch).backward()",),
)
