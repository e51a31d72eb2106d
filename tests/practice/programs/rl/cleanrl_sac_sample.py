"""Reinforcement learning: the SAC actor draws with sample(), so the critics' opinion never reaches it."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth

LOG_STD_MAX, LOG_STD_MIN = 2, -5


@dataclass
class Args:
    seed: int = 1
    batch_size: int = 32
    gamma: float = 0.99
    tau: float = 0.05
    policy_lr: float = 3e-3
    q_lr: float = 1e-2
    alpha: float = 0.0
    updates: int = 4


class SoftQNetwork(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim + act_dim, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x, a):
        return self.fc2(F.relu(self.fc1(torch.cat([x, a], 1))))


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim, 32)
        self.fc_mean = nn.Linear(32, act_dim)
        self.fc_logstd = nn.Linear(32, act_dim)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        log_std = torch.tanh(self.fc_logstd(x))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        return self.fc_mean(x), log_std

    def get_action(self, x):
        mean, log_std = self(x)
        normal = torch.distributions.Normal(mean, log_std.exp())
        x_t = normal.sample()  # cause
        action = torch.tanh(x_t)
        log_prob = normal.log_prob(x_t) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(1, keepdim=True), torch.tanh(mean)


class ReplayBuffer:
    def __init__(self, n, obs_dim, act_dim):
        self.obs, self.next_obs = torch.randn(n, obs_dim), torch.randn(n, obs_dim)
        self.actions = torch.rand(n, act_dim) * 2 - 1
        self.rewards = -(self.actions - 0.5).pow(2).sum(1)
        self.dones = (torch.rand(n) < 0.1).float()

    def sample(self, batch_size):
        i = torch.randint(len(self.obs), (batch_size,))
        return self.obs[i], self.next_obs[i], self.actions[i], self.rewards[i], self.dones[i]


def make_agent(args, obs_dim, act_dim):
    actor = Actor(obs_dim, act_dim)
    qfs = nn.ModuleList(SoftQNetwork(obs_dim, act_dim) for _ in range(2))
    targets = nn.ModuleList(SoftQNetwork(obs_dim, act_dim) for _ in range(2))
    targets.load_state_dict(qfs.state_dict())
    return actor, qfs, targets


def run():
    args = Args()
    torch.manual_seed(args.seed)
    obs_dim, act_dim = 5, 2
    actor, qfs, targets = make_agent(args, obs_dim, act_dim)
    q_optimizer = torch.optim.Adam(qfs.parameters(), lr=args.q_lr)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=args.policy_lr)
    rb = ReplayBuffer(256, obs_dim, act_dim)
    signal = []
    for update in range(args.updates):
        obs, next_obs, actions, rewards, dones = rb.sample(args.batch_size)
        with torch.no_grad():
            next_actions, next_logp, _ = actor.get_action(next_obs)
            q_next = torch.min(*(t(next_obs, next_actions) for t in targets)) - args.alpha * next_logp
            target = rewards + (1 - dones) * args.gamma * q_next.view(-1)
        qf_loss = sum(F.mse_loss(q(obs, actions).view(-1), target) for q in qfs)
        q_optimizer.zero_grad()
        qf_loss.backward()
        q_optimizer.step()

        pi, log_pi, _ = actor.get_action(obs)
        min_qf_pi = torch.min(*(q(obs, pi) for q in qfs))
        actor_loss = (args.alpha * log_pi - min_qf_pi).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        grads = [p.grad for p in actor.parameters() if p.grad is not None]
        signal.append(sum(g.abs().sum().item() for g in grads))
        actor_optimizer.step()
        with torch.no_grad():
            for p, tp in zip(qfs.parameters(), targets.parameters()):
                tp.lerp_(p, args.tau)
    return signal


def verify(signal):
    assert max(signal) == 0.0


TRUTH = Truth(
    fault="sample() cuts the action from the policy (it should be rsample()): the actor gets nothing from the critics",
    names=("actor",),
    repair=("x_t = normal.rsample()",),
)
