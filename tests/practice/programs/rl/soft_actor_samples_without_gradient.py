"""SAC: the actor's action is drawn by `sample()`, so the critic's judgement of it does not reach the actor."""

import copy

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 16), nn.ReLU())
        self.mean, self.log_std = nn.Linear(16, 2), nn.Linear(16, 2)

    def sample(self, state):
        h = self.trunk(state)
        normal = Normal(self.mean(h), self.log_std(h).clamp(-20, 2).exp())
        x = normal.sample()  # cause
        action = torch.tanh(x)
        log_prob = normal.log_prob(x) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(1, keepdim=True)


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
        self.q2 = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, s, a):
        xu = torch.cat([s, a], 1)
        return self.q1(xu), self.q2(xu)


def run():
    torch.manual_seed(0)
    policy, critic = GaussianPolicy(), QNetwork()
    target = copy.deepcopy(critic)
    policy_optim = torch.optim.Adam(policy.parameters(), lr=3e-4)
    critic_optim = torch.optim.Adam(critic.parameters(), lr=3e-4)
    for _ in range(3):
        s, a, r, s2 = torch.randn(8, 3), torch.rand(8, 2), torch.randn(8, 1), torch.randn(8, 3)
        with torch.no_grad():
            a2, logp2 = policy.sample(s2)
            y = r + 0.99 * (torch.min(*target(s2, a2)) - 0.2 * logp2)
        q1, q2 = critic(s, a)
        q_loss = nn.functional.mse_loss(q1, y) + nn.functional.mse_loss(q2, y)
        critic_optim.zero_grad()
        q_loss.backward()
        critic_optim.step()

        pi, log_pi = policy.sample(s)
        min_q = torch.min(*critic(s, pi))
        policy_loss = (0.2 * log_pi - min_q).mean()
        policy_optim.zero_grad()
        policy_loss.backward()
        policy_optim.step()
        with torch.no_grad():
            for p, t in zip(critic.parameters(), target.parameters()):
                t.lerp_(p, 0.005)
    pi, _ = policy.sample(torch.randn(8, 3))
    return pi.requires_grad


TRUTH = Truth(
    fault="the action carries no gradient from the critic to the actor",
    names=("sample",),
    repair=("x = normal.rsample()",),
)


def verify(reaches):
    assert not reaches
