"""PPO: the old log-probabilities are computed again with the current weights, so the ratio's gradient cancels."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    obs, actions = torch.randn(32, 4), torch.randint(0, 3, (32,))
    advantages = torch.randn(32)
    before = policy.weight.detach().clone()
    for _ in range(3):
        log_prob = torch.distributions.Categorical(logits=policy(obs)).log_prob(actions)
        old_log_prob = torch.distributions.Categorical(logits=policy(obs)).log_prob(actions)  # cause
        ratio = (log_prob - old_log_prob).exp()
        surrogate = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
        opt.zero_grad()
        (-surrogate.mean()).backward()
        opt.step()
    return (policy.weight - before).abs().max()


def verify(out):
    assert out < 1e-6


TRUTH = Truth(
    fault="the gradient of both log-probabilities cancels",
    values=True,
    repair=("old_log_prob = torch.distributions.Categorical(logits=policy(obs)).log_prob(actions).detach()",),
)
