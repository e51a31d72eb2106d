"""PPO: the rollout holds numbers, GAE is computed by NumPy, and the policy is recomputed for each minibatch."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.zeros(2))

    def dist(self, obs):
        return Normal(self.actor(obs), self.log_std.exp())

    def value(self, obs):
        return self.critic(obs).squeeze(-1)


def rollout(agent, rng, n=16):
    obs = rng.standard_normal((n + 1, 3)).astype(np.float32)
    with torch.no_grad():
        dist = agent.dist(torch.from_numpy(obs[:-1]))
        action = dist.sample()
        logp = dist.log_prob(action).sum(-1)
    values = agent.value(torch.from_numpy(obs)).detach().numpy()
    reward = -np.abs(action.numpy()).sum(1)
    adv, last = np.zeros(n, np.float32), 0.0
    for t in reversed(range(n)):
        delta = reward[t] + 0.99 * values[t + 1] - values[t]
        last = delta + 0.99 * 0.95 * last
        adv[t] = last
    return torch.from_numpy(obs[:-1]), action, logp, torch.from_numpy(adv), torch.from_numpy(adv + values[:-1])


def run():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    agent = Agent()
    opt = torch.optim.Adam(agent.parameters(), 3e-4, eps=1e-5)
    kls = []
    for _ in range(2):
        obs, action, old, adv, ret = rollout(agent, rng)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(2):
            for idx in torch.randperm(len(obs)).split(8):
                dist = agent.dist(obs[idx])
                ratio = (dist.log_prob(action[idx]).sum(-1) - old[idx]).exp()
                surrogate = torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx])
                value_loss = (agent.value(obs[idx]) - ret[idx]).pow(2).mean()
                loss = -surrogate.mean() + 0.5 * value_loss
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                opt.step()
                kls.append((ratio.detach() - 1 - ratio.detach().log()).mean().item())
    return kls


TRUTH = Truth()
