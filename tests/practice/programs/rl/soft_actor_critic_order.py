"""Reinforcement learning: SAC computes all losses first and steps the critic before the policy's backward."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth

OBS, ACT = 4, 2


class SquashedGaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(OBS, 24), nn.ReLU())
        self.mean, self.log_std = nn.Linear(24, ACT), nn.Linear(24, ACT)

    def forward(self, obs):
        h = self.trunk(obs)
        dist = Normal(self.mean(h), self.log_std(h).clamp(-5, 2).exp())
        raw = dist.rsample()
        action = torch.tanh(raw)
        log_prob = (dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1)
        return action, log_prob


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(OBS + ACT, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], -1)).squeeze(-1)


class SAC:
    def __init__(self, lr=3e-3, gamma=0.99):
        self.policy, self.critic = SquashedGaussian(), Critic()
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.log_alpha = torch.zeros((), requires_grad=True)
        self.gamma = gamma
        self.policy_opt = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=lr)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=lr)

    def losses(self, obs, act, rew, nxt):
        with torch.no_grad():
            next_act, next_logp = self.policy(nxt)
            backup = rew + self.gamma * (self.target(nxt, next_act) - self.log_alpha.exp() * next_logp)
        critic_loss = F.mse_loss(self.critic(obs, act), backup)
        new_act, logp = self.policy(obs)
        alpha_loss = -(self.log_alpha * (logp.detach() - ACT)).mean()
        policy_loss = (self.log_alpha.exp().detach() * logp - self.critic(obs, new_act)).mean()  # also
        return critic_loss, policy_loss, alpha_loss

    def update(self, batch):
        critic_loss, policy_loss, alpha_loss = self.losses(*batch)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()  # cause

        self.policy_opt.zero_grad()
        policy_loss.backward()  # symptom
        self.policy_opt.step()

        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        with torch.no_grad():
            for p, t in zip(self.critic.parameters(), self.target.parameters()):
                t.lerp_(p, 0.01)


def replay(n=16):
    return torch.randn(n, OBS), torch.randn(n, ACT).tanh(), torch.randn(n), torch.randn(n, OBS)


def run():
    torch.manual_seed(0)
    agent = SAC()
    for _ in range(2):
        agent.update(replay())
    return agent


TRUTH = Truth(
    fault="critic_opt.step() changes the critic's weights in place while the policy's loss still needs them",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("critic",),
    repair=("self.critic_opt.step()\n_, policy_loss, alpha_loss = self.losses(*batch)",),
)
