"""SB3-like TD3: polyak_update(params, target_params) is called with its arguments exchanged: the critic is pulled back to its target."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def polyak_update(params, target_params, tau):
    """target <- (1 - tau) * target + tau * param"""
    with torch.no_grad():
        for param, target_param in zip(params, target_params):
            target_param.data.mul_(1 - tau)
            torch.add(target_param.data, param.data, alpha=tau, out=target_param.data)


class ContinuousCritic(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.q_networks = nn.ModuleList(
            nn.Sequential(nn.Linear(obs + act, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(2)
        )

    def forward(self, obs, act):
        x = torch.cat([obs, act], 1)
        return tuple(q(x) for q in self.q_networks)


class TD3:
    def __init__(self, tau=0.05, policy_delay=2, gamma=0.98):
        self.actor = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2), nn.Tanh())
        self.critic = ContinuousCritic()
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.tau, self.policy_delay, self.gamma = tau, policy_delay, gamma
        self._n_updates = 0

    def train(self, obs, act, rew, next_obs):
        self._n_updates += 1
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(act)).clamp(-0.5, 0.5)
            next_act = (self.actor_target(next_obs) + noise).clamp(-1, 1)
            next_q = torch.cat(self.critic_target(next_obs, next_act), 1).min(1, keepdim=True).values
            target_q = rew + self.gamma * next_q
        critic_loss = sum(F.mse_loss(q, target_q) for q in self.critic(obs, act))
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        if self._n_updates % self.policy_delay == 0:
            actor_loss = -self.critic(obs, self.actor(obs))[0].mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()
            polyak_update(self.critic_target.parameters(), self.critic.parameters(), self.tau)  # cause
            polyak_update(self.actor.parameters(), self.actor_target.parameters(), self.tau)


def run():
    torch.manual_seed(0)
    agent = TD3()
    start = [p.detach().clone() for p in agent.critic_target.parameters()]
    for _ in range(4):
        agent.train(torch.randn(16, 4), torch.rand(16, 2) * 2 - 1, torch.randn(16, 1), torch.randn(16, 4))
    return max((p - s).abs().max().item() for p, s in zip(agent.critic_target.parameters(), start))


def verify(outcome):
    assert outcome == 0.0


TRUTH = Truth(
    fault="polyak_update gets the target as source: critic_target never changes and the critic is averaged towards its initial weights",
    names=("critic",),
    repair=("polyak_update(self.critic.parameters(), self.critic_target.parameters(), self.tau)",),
)
