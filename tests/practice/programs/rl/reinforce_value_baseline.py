"""REINFORCE with a learned baseline: the advantage is a number for the policy, and the baseline learns by itself."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Bernoulli

from tests.practice.truth import Truth


def discounted(rewards, gamma=0.95):
    out = np.zeros(len(rewards), dtype=np.float32)
    acc = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        acc = rewards[t] + gamma * acc
        out[t] = acc
    return out


class Bandit:
    def __init__(self):
        self.rng = np.random.default_rng(3)

    def reset(self):
        self.s = self.rng.normal(size=3).astype(np.float32)
        return self.s

    def step(self, a):
        r = float(a) if self.s[0] > 0 else 1.0 - float(a)
        return self.reset(), r


def run():
    torch.manual_seed(0)
    env = Bandit()
    policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    baseline = nn.Linear(3, 1)
    opt_p = torch.optim.Adam(policy.parameters(), lr=0.02)
    opt_b = torch.optim.Adam(baseline.parameters(), lr=0.05)
    scores, baseline_losses = [], []
    for episode in range(4):
        states, actions, rewards = [], [], []
        s = env.reset()
        for _ in range(10):
            with torch.no_grad():
                a = Bernoulli(logits=policy(torch.from_numpy(s))).sample()
            states.append(s)
            actions.append(a)
            s, r = env.step(a.item())
            rewards.append(r)
        S = torch.from_numpy(np.stack(states))
        A = torch.stack(actions)
        G = torch.from_numpy(discounted(rewards)).unsqueeze(1)
        V = baseline(S)
        advantage = torch.from_numpy(G.numpy() - V.detach().numpy())
        loss_p = -(Bernoulli(logits=policy(S)).log_prob(A) * advantage).mean()
        loss_b = nn.functional.mse_loss(V, G)
        opt_p.zero_grad()
        loss_p.backward()
        opt_p.step()
        opt_b.zero_grad()
        loss_b.backward()
        opt_b.step()
        scores.append(sum(rewards))
        baseline_losses.append(loss_b.item())
    return policy, baseline, scores, baseline_losses


TRUTH = Truth()


def verify(out):
    policy, baseline, scores, losses = out
    assert all(p.grad.abs().sum() > 0 for p in policy.parameters())
    assert all(p.grad.abs().sum() > 0 for p in baseline.parameters())
    assert losses[-1] < 100
