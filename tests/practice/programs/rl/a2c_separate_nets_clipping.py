"""A2C: the parameters are kept as a chain of generators; the optimizer has used it up when clipping gets it."""

from itertools import chain

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    value = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    params = chain(policy.parameters(), value.parameters())  # cause
    opt = torch.optim.RMSprop(params, lr=7e-4, eps=1e-5)
    max_grad_norm = 0.5
    log = []
    for update in range(3):
        obs = torch.randn(10, 4)
        dist = Categorical(logits=policy(obs))
        act = dist.sample()
        returns = 20 * torch.randn(10)
        v = value(obs).squeeze(-1)
        adv = returns - v
        policy_loss = -(dist.log_prob(act) * adv.detach()).mean()
        value_loss = adv.pow(2).mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, max_grad_norm)  # also
        opt.step()
        log.append({"update": update, "loss": loss.item(), "value_loss": value_loss.item()})
    return policy, value


def verify(out):
    grads = [p.grad for net in out for p in net.parameters()]
    assert torch.stack([g.norm() for g in grads]).norm() > 0.6  # clipped, it could be 0.5 at most


TRUTH = Truth(
    fault="gradients are never clipped: the generator is exhausted",
    names=("params",),
    repair=("params = list(chain(policy.parameters(), value.parameters()))",),
)
