"""A2C: advantages are made by NumPy from numbers, actions by the policy under no_grad."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pi, self.v = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, s):
        h = torch.tanh(self.body(s))
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def rollout(net, rng, n=8):
    obs, acts, rews, vals = (
        np.zeros((n, 4), np.float32),
        np.zeros(n, np.int64),
        np.zeros(n, np.float32),
        np.zeros(n + 1),
    )
    s = rng.standard_normal(4).astype(np.float32)
    for t in range(n):
        with torch.no_grad():
            dist, v = net(torch.from_numpy(s))
        obs[t], acts[t], vals[t] = s, dist.sample().item(), v.item()
        rews[t] = float(acts[t] == (s[0] > 0))
        s = rng.standard_normal(4).astype(np.float32)
    return obs, acts, rews, vals


def run():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net = Net()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for _ in range(3):
        obs, acts, rews, vals = rollout(net, rng)
        adv, last = np.zeros(len(rews), np.float32), 0.0
        for t in reversed(range(len(rews))):
            last = rews[t] + 0.99 * vals[t + 1] - vals[t] + 0.95 * last
            adv[t] = last
        returns = torch.as_tensor(adv + vals[:-1], dtype=torch.float32)
        adv = torch.from_numpy(adv)
        dist, v = net(torch.from_numpy(obs))
        loss = -(dist.log_prob(torch.from_numpy(acts)) * adv).mean() + 0.5 * (v - returns).pow(2).mean()
        loss = loss - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


TRUTH = Truth()
