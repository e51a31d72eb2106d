"""SAC as it should be: the alpha loss takes a detached log-probability, each player clears first."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 4), nn.Linear(5, 1)
    log_alpha = torch.zeros((), requires_grad=True)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    alpha_opt = torch.optim.Adam([log_alpha], lr=1e-2)
    for _ in range(3):
        obs, act, target = torch.randn(16, 3), torch.randn(16, 2), torch.randn(16)
        critic_opt.zero_grad()
        (critic(torch.cat([obs, act], -1)).squeeze(-1) - target).pow(2).mean().backward()
        critic_opt.step()
        mean, log_std = actor(obs).chunk(2, -1)
        dist = torch.distributions.Normal(mean, log_std.exp())
        action = dist.rsample()
        log_prob = dist.log_prob(action).sum(-1)
        actor_loss = (log_alpha.exp().detach() * log_prob - critic(torch.cat([obs, action], -1)).squeeze(-1)).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        alpha_loss = -(log_alpha.exp() * (log_prob.detach() - 2.0)).mean()
        alpha_opt.zero_grad()
        alpha_loss.backward()
        alpha_opt.step()
        actor_opt.step()


TRUTH = Truth()
