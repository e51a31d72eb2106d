"""DDPG: the soft update binds a new tensor to the loop's name and leaves the target networks as they were."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def mlp(i, o, act=nn.Identity):
    return nn.Sequential(nn.Linear(i, 16), nn.ReLU(), nn.Linear(16, o), act())


@torch.no_grad()
def soft_update(net, target, tau):
    for p, tp in zip(net.parameters(), target.parameters()):
        tp = (1 - tau) * tp + tau * p  # cause


def run():
    torch.manual_seed(0)
    actor, critic = mlp(3, 1, nn.Tanh), mlp(4, 1)
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    before = [p.detach().clone() for p in critic_target.parameters()]
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2, weight_decay=1e-2)
    for _ in range(4):
        s, a, r, s2 = torch.randn(16, 3), torch.rand(16, 1), torch.randn(16, 1), torch.randn(16, 3)
        with torch.no_grad():
            y = r + 0.99 * critic_target(torch.cat([s2, actor_target(s2)], 1))
        critic_loss = (critic(torch.cat([s, a], 1)) - y).pow(2).mean()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()

        actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()

        soft_update(actor, actor_target, 0.01)
        soft_update(critic, critic_target, 0.01)
    return critic, critic_target, before


def verify(out):
    critic, target, before = out
    assert all(torch.equal(a, b) for a, b in zip(before, target.parameters()))
    assert not torch.equal(before[0], next(critic.parameters()))


TRUTH = Truth(
    fault="the target networks never move",
    names=("target",),
    repair=("tp.copy_((1 - tau) * tp + tau * p)",),
)
