"""SAC: the loss of the temperature is computed with `.item()` of it, and the Q loss hides that nothing is learned."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor, critic = nn.Linear(4, 4), nn.Linear(6, 1).requires_grad_(False)
    log_alpha = torch.zeros(1, requires_grad=True)
    opt = torch.optim.Adam([*actor.parameters(), log_alpha], 1e-2)
    for _ in range(3):
        s = torch.randn(16, 4)
        mean, log_std = actor(s).chunk(2, -1)
        dist = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        a = dist.rsample()
        logp = dist.log_prob(a).sum(-1)
        alpha = log_alpha.exp().item()  # cause
        actor_loss = (alpha * logp - critic(torch.cat([s, a.tanh()], -1)).squeeze(-1)).mean()
        alpha_loss = -alpha * (logp.detach() - 2.0).mean()
        opt.zero_grad()
        (actor_loss + alpha_loss).backward()
        opt.step()
    return log_alpha


def verify(log_alpha):
    assert log_alpha.grad is None


TRUTH = Truth(
    fault="the temperature is a number",
    names=("log_alpha", "item"),
    repair=("alpha = log_alpha.exp()",),
)
