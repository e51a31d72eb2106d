"""Recurrent PPO done right: states are masked out of place, stored detached, and sequences are replayed from them."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, obs=5, hidden=12, actions=3):
        super().__init__()
        self.cell, self.pi, self.v = nn.GRUCell(obs, hidden), nn.Linear(hidden, actions), nn.Linear(hidden, 1)
        for name, p in self.cell.named_parameters():
            if "weight" in name:
                nn.init.orthogonal_(p)

    def unroll(self, obs, masks, state):
        logits, values = [], []
        for x, mask in zip(obs, masks):
            state = self.cell(x, state * mask)
            logits.append(self.pi(state))
            values.append(self.v(state).squeeze(-1))
        return Categorical(logits=torch.stack(logits)), torch.stack(values), state


class Rollout:
    def __init__(self, net, state, length=6, envs=4):
        self.start = state
        self.obs = torch.randn(length, envs, 5)
        self.masks = (torch.rand(length, envs, 1) > 0.2).float()
        with torch.no_grad():
            dist, values, self.end = net.unroll(self.obs, self.masks, state)
            self.actions = dist.sample()
            self.old = dist.log_prob(self.actions)
        rewards, self.returns = torch.randn(length, envs), torch.zeros(length, envs)
        following = torch.zeros(envs)
        for t in reversed(range(length)):
            following = rewards[t] + 0.99 * following * self.masks[t].squeeze(-1)
            self.returns[t] = following
        self.advantages = self.returns - values
        self.advantages = (self.advantages - self.advantages.mean()) / (self.advantages.std() + 1e-8)


def run(updates=2, epochs=2):
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
    state, kls = torch.zeros(4, 12), []
    for _ in range(updates):
        rollout = Rollout(net, state)
        state = rollout.end
        for _ in range(epochs):
            for envs in torch.randperm(4).split(2):
                dist, values, _ = net.unroll(rollout.obs[:, envs], rollout.masks[:, envs], rollout.start[envs])
                log_ratio = dist.log_prob(rollout.actions[:, envs]) - rollout.old[:, envs]
                advantages = rollout.advantages[:, envs]
                ratio = log_ratio.exp()
                policy = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
                loss = policy + 0.5 * (values - rollout.returns[:, envs]).pow(2).mean() - 0.01 * dist.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                optimizer.step()
                with torch.no_grad():
                    kls.append((ratio - 1 - log_ratio).mean().item())
    return net, kls


TRUTH = Truth()


def verify(out):
    assert all(p.grad.abs().sum() > 0 for p in out[0].parameters())
