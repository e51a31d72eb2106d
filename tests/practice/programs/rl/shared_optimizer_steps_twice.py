"""One optimizer steps after each player's backward, and the second step still holds the first player's gradients."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    pi, v = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.SGD([*pi.parameters(), *v.parameters()], lr=0.1)
    moved = []
    for _ in range(2):
        obs, ret = torch.randn(16, 4), torch.randn(16)
        dist = torch.distributions.Categorical(logits=pi(obs))
        value = v(obs).squeeze(1)
        adv = (ret - value).detach()
        policy_loss = -(dist.log_prob(dist.sample()) * adv).mean()
        opt.zero_grad()
        policy_loss.backward()
        opt.step()
        here = pi.weight.detach().clone()
        value_loss = (ret - value).pow(2).mean()
        value_loss.backward()  # cause
        opt.step()
        moved.append(not torch.equal(pi.weight, here))
    return moved


def verify(out):
    assert all(out)


TRUTH = Truth(fault="the policy's gradient is used by two steps", repair=("opt.zero_grad()\nvalue_loss.backward()",))
