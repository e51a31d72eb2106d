"""Agents and self-supervision: targets, replay, averages, queues."""

from __future__ import annotations

import copy
from collections import deque

import pytest
import torch
import torch.nn.functional as F
from torch.distributions import Categorical, Normal

from .quiet import X, Y, assert_quiet, mlp, stepped


def deep_q_learning():
    online = mlp()
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters())
    replay = deque(maxlen=16)
    for step in range(3):
        with torch.no_grad():
            action = online(X).argmax(dim=1)
        replay.append((X, action, (action == Y).float(), X.roll(1, 0)))
        state, action, reward, following = replay[-1]
        with torch.no_grad():
            best = target(following).gather(1, online(following).argmax(dim=1, keepdim=True)).squeeze(1)
        chosen = online(state).gather(1, action[:, None]).squeeze(1)
        stepped(optimizer, F.smooth_l1_loss(chosen, reward + 0.9 * best))
        if step % 2:
            target.load_state_dict(online.state_dict())


def proximal_policy_optimisation():
    policy, value = mlp(), mlp(4, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])
    with torch.no_grad():
        dist = Categorical(logits=policy(X))
        action = dist.sample()
        old, returns = dist.log_prob(action), torch.randn(8)
    for rows in torch.arange(8).split(4):
        dist = Categorical(logits=policy(X[rows]))
        estimate = value(X[rows]).squeeze(-1)
        advantage = (returns[rows] - estimate).detach()
        ratio = (dist.log_prob(action[rows]) - old[rows]).exp()
        surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        stepped(optimizer, F.mse_loss(estimate, returns[rows]) - surrogate - 0.01 * dist.entropy().mean())


def soft_actor_critic():
    actor, critic, log_alpha = mlp(4, 4), mlp(6, 1), torch.zeros(1, requires_grad=True)
    target = copy.deepcopy(critic).requires_grad_(False)
    optimizers = [torch.optim.Adam(p) for p in (critic.parameters(), actor.parameters(), [log_alpha])]

    def act(state):
        mu, log_std = actor(state).chunk(2, -1)
        dist = Normal(mu, log_std.clamp(-5, 2).exp())
        raw = dist.rsample()
        return raw.tanh(), (dist.log_prob(raw) - torch.log(1 - raw.tanh().pow(2) + 1e-6)).sum(-1, keepdim=True)

    for _ in range(2):
        with torch.no_grad():
            following, log_prob = act(X)
            goal = torch.randn(8, 1) + 0.9 * (target(torch.cat([X, following], 1)) - log_alpha.exp() * log_prob)
        stepped(optimizers[0], F.mse_loss(critic(torch.cat([X, torch.randn(8, 2)], 1)), goal))
        action, log_prob = act(X)
        stepped(optimizers[1], (log_alpha.exp().detach() * log_prob - critic(torch.cat([X, action], 1))).mean())
        stepped(optimizers[2], -(log_alpha * (log_prob + 2).detach()).mean())
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), critic.parameters(), strict=True):
                slow.mul_(0.995).add_(fast, alpha=0.005)


def momentum_contrast():
    encoder, queue = mlp(4, 6), F.normalize(torch.randn(16, 6), dim=1)
    momentum = copy.deepcopy(encoder).requires_grad_(False)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for at in (0, 8):
        q = F.normalize(encoder(X), dim=1)
        with torch.no_grad():
            for slow, fast in zip(momentum.parameters(), encoder.parameters(), strict=True):
                slow.data = slow.data * 0.99 + fast.data * 0.01
            k = F.normalize(momentum(X + 0.1 * torch.randn_like(X)), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.clone().detach().T], dim=1) / 0.07
        stepped(optimizer, F.cross_entropy(logits, torch.zeros(8, dtype=torch.long)))
        queue[at : at + 8] = k


def bootstrapped_latents():
    online, predictor = mlp(4, 6), mlp(6, 6)
    target = copy.deepcopy(online)
    optimizer = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            goal = F.normalize(target(X), dim=-1)
        stepped(optimizer, -(F.normalize(predictor(online(X + 0.1)), dim=-1) * goal).sum(-1).mean())
        for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
            slow.data.mul_(0.99).add_(fast.data, alpha=0.01)


LOOPS = [
    deep_q_learning,
    proximal_policy_optimisation,
    soft_actor_critic,
    momentum_contrast,
    bootstrapped_latents,
]


@pytest.mark.parametrize("values", [False, True], ids=["structure", "values"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_loop(loop, values):
    """A healthy training loop raises no alarm."""
    assert_quiet(loop, values=values)
