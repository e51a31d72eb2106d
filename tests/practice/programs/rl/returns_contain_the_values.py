"""GAE: `returns = advantages + values` keeps the graph, and `returns - values` has no gradient left."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.1)
    before = critic.weight.detach().clone()
    for _ in range(2):
        obs, rewards = torch.randn(16, 4), torch.randn(16)
        dist = torch.distributions.Categorical(logits=actor(obs))
        actions = dist.sample()
        values = critic(obs).squeeze(-1)
        advantages = (rewards - values).detach()
        returns = advantages + values  # cause
        policy_loss = -(dist.log_prob(actions) * advantages).mean()
        value_loss = (returns - values).pow(2).mean()
        opt.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        opt.step()
    return (critic.weight - before).abs().max()


def verify(out):
    assert out < 1e-6


TRUTH = Truth(
    fault="the target of the critic carries the critic's own graph, which cancels",
    values=True,
    repair=("returns = advantages + values.detach()",),
)
