"""DDPG: the actor's loss rates the action of the replay buffer, not the one that the actor chooses."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    before = actor.weight.detach().clone()
    for _ in range(2):
        obs, action, reward = torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1)
        critic_loss = (critic(torch.cat([obs, action], 1)) - reward).pow(2).mean()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        new_action = actor(obs)  # also
        new_action = new_action.clamp(-1, 1)
        actor_loss = -critic(torch.cat([obs, action], 1)).mean()  # cause
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
    return (actor.weight - before).abs().max()


def verify(out):
    assert out == 0


TRUTH = Truth(
    fault="the actor's output enters no loss",
    names=("actor",),
    repair=("actor_loss = -critic(torch.cat([obs, new_action], 1)).mean()",),
)
