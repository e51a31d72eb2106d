"""SAC: Q is detached in the actor's loss, so the policy learns its entropy alone."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    q1, q2 = nn.Linear(4, 1), nn.Linear(4, 1)
    opt_a = torch.optim.Adam(actor.parameters(), 3e-3)
    opt_q = torch.optim.Adam([*q1.parameters(), *q2.parameters()], 3e-3)
    grads = []
    for _ in range(3):
        s, a, r = torch.randn(12, 3), torch.rand(12, 1), torch.randn(12, 1)
        sa = torch.cat([s, a], 1)
        q_loss = (q1(sa) - r).pow(2).mean() + (q2(sa) - r).pow(2).mean()
        opt_q.zero_grad()
        q_loss.backward()
        opt_q.step()
        mean, log_std = actor(s).chunk(2, 1)
        dist = torch.distributions.Normal(mean, log_std.clamp(-4, 1).exp())
        new = dist.rsample()
        joint = torch.cat([s, new], 1)
        value = torch.min(q1(joint), q2(joint)).detach()  # cause
        loss = (0.1 * dist.log_prob(new) - value).mean()
        opt_a.zero_grad()
        loss.backward()
        opt_a.step()
        grads.append(actor[2].weight.grad[0].abs().max().item())
    return grads


def verify(grads):
    assert max(grads) < 1e-6


TRUTH = Truth(
    fault="the actor gets no gradient from Q",
    names=("detach",),
    minor=True,
    repair=("value = torch.min(q1(joint), q2(joint))",),
)
