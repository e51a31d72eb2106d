"""PPO's first epoch has a ratio of exactly one; its gradient is not zero."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    policy, value = nn.Linear(4, 3), nn.Linear(4, 1)
    opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-2)
    for _ in range(2):
        obs = torch.randn(32, 4)
        with torch.no_grad():
            dist = torch.distributions.Categorical(logits=policy(obs))
            actions = dist.sample()
            old = dist.log_prob(actions)
            returns = torch.randn(32)
            advantages = returns - value(obs).squeeze(-1)
        for _ in range(2):
            dist = torch.distributions.Categorical(logits=policy(obs))
            ratio = (dist.log_prob(actions) - old).exp()
            surrogate = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            loss = -surrogate.mean() + (value(obs).squeeze(-1) - returns).pow(2).mean() - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


TRUTH = Truth(values=True)
