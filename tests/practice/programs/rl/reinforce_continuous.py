"""REINFORCE with a Gaussian policy: the action is drawn with rsample, so the mean's score gradient cancels."""

import torch
from torch import nn
from torch.distributions import Independent, Normal

from tests.practice.truth import Truth


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
        self.mu = nn.Linear(16, 2)
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def forward(self, obs):
        return Independent(Normal(self.mu(self.net(obs)), self.log_std.exp()), 1)


def step_env(state, action):
    action = action.detach()
    nxt = 0.9 * state + 0.1 * torch.cat([action, action.sum(0, keepdim=True)])
    return nxt, -nxt.pow(2).sum().item()


def rollout(policy, horizon=6):
    state = torch.randn(3)
    log_probs, rewards = [], []
    for _ in range(horizon):
        dist = policy(state)
        action = dist.rsample()  # cause
        log_probs.append(dist.log_prob(action))  # also
        state, reward = step_env(state, action)
        rewards.append(reward)
    return torch.stack(log_probs), rewards


def run():
    torch.manual_seed(0)
    policy = GaussianPolicy()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    baseline = 0.0
    for _ in range(3):
        log_probs, rewards = rollout(policy)
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
        baseline = 0.9 * baseline + 0.1 * returns.mean().item()
        loss = -(log_probs * (returns - baseline)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return policy


def verify(policy):
    assert policy.mu.weight.grad.abs().max() < 1e-5
    assert policy.log_std.grad.abs().max() > 1e-3


TRUTH = Truth(
    values=True,
    fault="log_prob of a reparameterized sample: no gradient reaches the mean",
    names=("mu.weight",),
    repair=("action = dist.sample()",),
)
