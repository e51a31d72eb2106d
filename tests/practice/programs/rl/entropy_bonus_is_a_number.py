"""The entropy bonus is turned into a number for the log and then enters the loss as that number."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    log = []
    obs, adv = torch.randn(16, 4), torch.zeros(16)
    before = policy.weight.detach().clone()
    for _ in range(2):
        dist = torch.distributions.Categorical(logits=policy(obs))
        action = dist.sample()
        entropy = dist.entropy().mean().item()  # cause
        log.append(float(entropy))
        loss = -(dist.log_prob(action) * adv).mean() - 0.5 * entropy
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (policy.weight - before).abs().max()


def verify(out):
    assert out == 0


TRUTH = Truth(fault="the entropy term has no gradient", repair=("entropy = dist.entropy().mean()",))
