"""A2C: the policy's loss weighs the log-probabilities by an advantage that still carries the critic's graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
    opt = torch.optim.SGD([*actor.parameters(), *critic.parameters()], 0.1)
    same = []
    for _ in range(2):
        obs, ret = torch.randn(16, 4), torch.randn(16)
        dist = torch.distributions.Categorical(logits=actor(obs))
        action = dist.sample()
        advantage = ret - critic(obs).squeeze(-1)
        value_loss = advantage.pow(2).mean()
        alone = torch.autograd.grad(value_loss, critic.weight, retain_graph=True)[0]
        policy_loss = -(dist.log_prob(action) * advantage).mean()  # cause
        opt.zero_grad()
        (policy_loss + value_loss).backward()
        same.append(torch.allclose(alone, critic.weight.grad))
        opt.step()
    return same


def verify(out):
    assert not any(out)


TRUTH = Truth(
    fault="the critic learns from the policy's loss",
    names=("advantage",),
    repair=("policy_loss = -(dist.log_prob(action) * advantage.detach()).mean()",),
)
