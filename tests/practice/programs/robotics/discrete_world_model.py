"""A world model with straight-through categorical latents, a frozen copy for imagination, a slow critic: all is well."""

import copy

import torch
from torch import nn
from torch.distributions import Independent, OneHotCategorical, OneHotCategoricalStraightThrough, kl_divergence
from torch.nn import functional as F

from tests.practice.truth import Truth


def latent(logits):
    return Independent(OneHotCategoricalStraightThrough(logits=logits.unflatten(-1, (3, 4))), 1)


def balanced_kl(posterior, prior, mix=0.8, free=0.5):
    """Move the prior more than the posterior."""

    def fixed(d):
        return Independent(OneHotCategorical(logits=d.base_dist.logits.detach()), 1)

    def opened(d):
        return Independent(OneHotCategorical(logits=d.base_dist.logits), 1)

    towards = kl_divergence(fixed(posterior), opened(prior)).mean().clamp(min=free)
    back = kl_divergence(opened(posterior), fixed(prior)).mean().clamp(min=free)
    return mix * towards + (1 - mix) * back


class RSSM(nn.Module):
    def __init__(self, obs=6, act=2, hidden=10):
        super().__init__()
        self.cell = nn.GRUCell(12 + act, hidden)
        self.prior = nn.Linear(hidden, 12)
        self.posterior = nn.Linear(hidden + obs, 12)
        self.decoder = nn.Linear(hidden + 12, obs)
        self.reward = nn.Linear(hidden + 12, 1)

    def loss(self, obs, actions, rewards):
        h, z = obs.new_zeros(len(obs), 10), obs.new_zeros(len(obs), 12)
        total, starts = 0.0, []
        for t in range(obs.shape[1]):
            h = self.cell(torch.cat([z, actions[:, t]], -1), h)
            posterior = latent(self.posterior(torch.cat([h, obs[:, t]], -1)))
            z = posterior.rsample().flatten(1)
            state = torch.cat([h, z], -1)
            total = total + F.mse_loss(self.decoder(state), obs[:, t]) + balanced_kl(posterior, latent(self.prior(h)))
            total = total + F.mse_loss(self.reward(state).squeeze(-1), rewards[:, t])
            starts.append(state.detach())
        return total / obs.shape[1], torch.cat(starts)


def run(updates=3, horizon=3):
    torch.manual_seed(0)
    world = RSSM()
    actor = nn.Sequential(nn.Linear(22, 16), nn.ELU(), nn.Linear(16, 2), nn.Tanh())
    critic = nn.Sequential(nn.Linear(22, 16), nn.ELU(), nn.Linear(16, 1))
    slow = copy.deepcopy(critic).requires_grad_(False)
    world_opt, actor_opt, critic_opt = (torch.optim.Adam(m.parameters(), lr=1e-3) for m in (world, actor, critic))
    history = []
    for update in range(updates):
        obs, actions, rewards = torch.randn(4, 5, 6), torch.rand(4, 5, 2), torch.randn(4, 5)
        model_loss, state = world.loss(obs, actions, rewards)
        world_opt.zero_grad()
        model_loss.backward()
        nn.utils.clip_grad_norm_(world.parameters(), 100.0)
        world_opt.step()

        world.requires_grad_(False)
        states, gains = [], 0.0
        for t in range(horizon):
            states.append(state)
            h = world.cell(torch.cat([state[:, 10:], actor(state)], -1), state[:, :10])
            state = torch.cat([h, latent(world.prior(h)).rsample().flatten(1)], -1)
            gains = gains + 0.95**t * world.reward(state)
        target = gains + 0.95**horizon * slow(state)
        actor_loss = -target.mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        world.requires_grad_(True)

        critic_loss = F.mse_loss(critic(states[0]), target.detach())
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        with torch.no_grad():
            for s, c in zip(slow.parameters(), critic.parameters(), strict=True):
                s.lerp_(c, 0.02)
        history.append((model_loss.item(), actor_loss.item(), critic_loss.item()))
        print(f"update {update} " + " ".join(f"{x:.3f}" for x in history[-1]))
    return world, slow, history


def verify(out):
    world, slow, history = out
    assert all(p.requires_grad and p.grad is not None for p in world.parameters())
    assert all(p.grad is None for p in slow.parameters()) and len(history) == 3


TRUTH = Truth()
