"""SAC: the temperature's loss takes `log_prob` with its graph, and the actor steps on both gradients."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 4), nn.Linear(5, 1).requires_grad_(False)
    log_alpha = torch.zeros((), requires_grad=True)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
    alpha_opt = torch.optim.Adam([log_alpha], lr=1e-2)
    same = []
    for _ in range(2):
        obs = torch.randn(16, 3)
        mean, log_std = actor(obs).chunk(2, -1)
        dist = torch.distributions.Normal(mean, log_std.exp())
        action = dist.rsample()
        log_prob = dist.log_prob(action).sum(-1)
        actor_loss = (log_alpha.exp().detach() * log_prob - critic(torch.cat([obs, action], -1)).squeeze(-1)).mean()
        actor_opt.zero_grad()
        actor_loss.backward(retain_graph=True)
        alone = actor.weight.grad.clone()
        alpha_loss = -(log_alpha.exp() * (log_prob - 2.0)).mean()  # cause
        alpha_opt.zero_grad()
        alpha_loss.backward()
        same.append(torch.equal(alone, actor.weight.grad))
        alpha_opt.step()
        actor_opt.step()
    return same


def verify(out):
    assert out == [False, False]


TRUTH = Truth(
    fault="the loss of the temperature also moves the actor",
    repair=("alpha_loss = -(log_alpha.exp() * (log_prob.detach() - 2.0)).mean()",),
)
