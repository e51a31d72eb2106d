"""Reinforcement learning: TD3 whose actor loss leaves gradients in the critic, which are cleared in time (healthy)."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    learning_rate: float = 3e-3
    gamma: float = 0.99
    tau: float = 0.05
    policy_noise: float = 0.2
    noise_clip: float = 0.5
    policy_frequency: int = 2
    batch_size: int = 32
    total_updates: int = 6


class QNetwork(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(obs_dim + act_dim, 32), nn.Linear(32, 1)

    def forward(self, x, a):
        return self.fc2(F.relu(self.fc1(torch.cat([x, a], 1))))


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.fc1, self.fc_mu = nn.Linear(obs_dim, 32), nn.Linear(32, act_dim)
        self.register_buffer("action_scale", torch.tensor(1.5))
        self.register_buffer("action_bias", torch.tensor(0.25))

    def forward(self, x):
        return torch.tanh(self.fc_mu(F.relu(self.fc1(x)))) * self.action_scale + self.action_bias


class ReplayBuffer:
    def __init__(self, n, obs_dim, act_dim):
        self.obs, self.next = torch.randn(n, obs_dim), torch.randn(n, obs_dim)
        self.act = torch.rand(n, act_dim) * 2 - 1
        self.rew = self.obs[:, 0] * self.act[:, 0]
        self.done = (torch.rand(n) < 0.05).float()

    def sample(self, k):
        i = torch.randint(len(self.obs), (k,))
        return self.obs[i], self.next[i], self.act[i], self.rew[i], self.done[i]


class TD3:
    def __init__(self, args, obs_dim, act_dim):
        self.args = args
        self.actor, self.target_actor = Actor(obs_dim, act_dim), Actor(obs_dim, act_dim)
        self.qf1, self.qf2 = QNetwork(obs_dim, act_dim), QNetwork(obs_dim, act_dim)
        self.qf1_target, self.qf2_target = QNetwork(obs_dim, act_dim), QNetwork(obs_dim, act_dim)
        for net, target in self.pairs():
            target.load_state_dict(net.state_dict())
        q_params = list(self.qf1.parameters()) + list(self.qf2.parameters())
        self.q_optimizer = torch.optim.Adam(q_params, lr=args.learning_rate)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=args.learning_rate)
        self.q_errors = []

    def pairs(self):
        return (self.actor, self.target_actor), (self.qf1, self.qf1_target), (self.qf2, self.qf2_target)

    def update_critic(self, obs, nxt, act, rew, done):
        a = self.args
        with torch.no_grad():
            noise = (torch.randn_like(act) * a.policy_noise).clamp(-a.noise_clip, a.noise_clip)
            next_act = (self.target_actor(nxt) + noise).clamp(-1.25, 1.75)
            q_next = torch.min(self.qf1_target(nxt, next_act), self.qf2_target(nxt, next_act)).view(-1)
            target = rew + (1 - done) * a.gamma * q_next
        loss = F.mse_loss(self.qf1(obs, act).view(-1), target) + F.mse_loss(self.qf2(obs, act).view(-1), target)
        params = [p for g in self.q_optimizer.param_groups for p in g["params"]]
        want = torch.autograd.grad(loss, params, retain_graph=True)
        self.q_optimizer.zero_grad()
        loss.backward()
        self.q_errors.append(max((w - p.grad).abs().max().item() for w, p in zip(want, params)))
        self.q_optimizer.step()

    def update_actor(self, obs):
        actor_loss = -self.qf1(obs, self.actor(obs)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()  # also fills qf1's gradients, which the next critic update throws away
        self.actor_optimizer.step()
        for net, target in self.pairs():
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.copy_(self.args.tau * p.data + (1 - self.args.tau) * tp.data)

    def train(self, rb):
        for step in range(self.args.total_updates):
            obs, *rest = rb.sample(self.args.batch_size)
            self.update_critic(obs, *rest)
            if step % self.args.policy_frequency == 0:
                for _ in range(self.args.policy_frequency):
                    self.update_actor(obs)


def run():
    torch.manual_seed(1)
    agent = TD3(Args(), 4, 2)
    before = [[p.detach().clone() for p in net.parameters()] for net, _ in agent.pairs()]
    agent.train(ReplayBuffer(256, 4, 2))
    after = [list(net.parameters()) for net, _ in agent.pairs()]
    targets = [list(t.parameters()) for _, t in agent.pairs()]
    return before, after, targets, agent.q_errors


def verify(outcome):
    before, after, targets, errors = outcome
    assert max(errors) == 0.0
    for b, a, t in zip(before, after, targets):
        assert all(not torch.equal(x, y) for x, y in zip(b, a))
        assert all(not torch.equal(x, y) and not torch.equal(y, z) for x, y, z in zip(b, t, a))


TRUTH = Truth()
