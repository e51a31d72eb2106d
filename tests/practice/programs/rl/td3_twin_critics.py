"""Reinforcement learning: TD3's second critic is a shallow copy of the first, so the twins are one network."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class QNetwork(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=16):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim + act_dim, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def reset_parameters(self):
        for layer in self.children():
            layer.reset_parameters()
        return self

    def forward(self, x, a):
        x = F.relu(self.fc1(torch.cat([x, a], 1)))
        return self.fc3(F.relu(self.fc2(x)))


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=16):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim, hidden)
        self.fc_mu = nn.Linear(hidden, act_dim)
        self.register_buffer("action_scale", torch.ones(act_dim))

    def forward(self, x):
        return torch.tanh(self.fc_mu(F.relu(self.fc1(x)))) * self.action_scale


class ReplayBuffer:
    def __init__(self, n, obs_dim, act_dim):
        self.obs, self.next_obs = torch.randn(n, obs_dim), torch.randn(n, obs_dim)
        self.actions = torch.rand(n, act_dim) * 2 - 1
        self.rewards, self.dones = torch.randn(n, 1), (torch.rand(n, 1) > 0.9).float()

    def sample(self, batch_size):
        i = torch.randint(0, self.obs.size(0), (batch_size,))
        return self.obs[i], self.actions[i], self.rewards[i], self.next_obs[i], self.dones[i]


def twin(network):
    """Another critic of the same architecture, freshly initialised."""
    return copy.copy(network).reset_parameters()  # cause


def polyak_update(net, target, tau):
    for param, target_param in zip(net.parameters(), target.parameters()):
        target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)


def run(gamma=0.99, tau=0.05, policy_frequency=2, policy_noise=0.2, noise_clip=0.5):
    torch.manual_seed(1)
    rb = ReplayBuffer(64, 3, 2)
    actor, qf1 = Actor(3, 2), QNetwork(3, 2)
    qf2 = twin(qf1)
    target_actor, qf1_target, qf2_target = copy.deepcopy(actor), copy.deepcopy(qf1), copy.deepcopy(qf2)
    q_optimizer = torch.optim.Adam(nn.ModuleList([qf1, qf2]).parameters(), lr=3e-3)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
    gaps = []
    for global_step in range(4):
        obs, actions, rewards, next_obs, dones = rb.sample(16)
        with torch.no_grad():
            clipped_noise = (torch.randn_like(actions) * policy_noise).clamp(-noise_clip, noise_clip)
            next_actions = (target_actor(next_obs) + clipped_noise).clamp(-1, 1)
            qf1_next, qf2_next = qf1_target(next_obs, next_actions), qf2_target(next_obs, next_actions)
            next_q = rewards + (1 - dones) * gamma * torch.min(qf1_next, qf2_next)
        qf1_a, qf2_a = qf1(obs, actions), qf2(obs, actions)
        gaps.append(float((qf1_a - qf2_a).abs().max()))
        qf_loss = F.mse_loss(qf1_a, next_q) + F.mse_loss(qf2_a, next_q)
        q_optimizer.zero_grad()
        qf_loss.backward()
        q_optimizer.step()
        if global_step % policy_frequency == 0:
            actor_loss = -qf1(obs, actor(obs)).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            polyak_update(actor, target_actor, tau)
            polyak_update(qf1, qf1_target, tau)
            polyak_update(qf2, qf2_target, tau)
    return gaps


def verify(gaps):
    assert max(gaps) == 0


TRUTH = Truth(
    fault="qf2 shares all its parameters with qf1 (shallow copy)",
    names=("qf2",),
    repair=("return copy.deepcopy(network).reset_parameters()",),
)
