"""Reinforcement learning: SAC learns log_alpha but goes on with the alpha it computed before the loop."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

from tests.practice.truth import Truth

LOG_STD_MAX, LOG_STD_MIN = 2, -5


class SoftQNetwork(nn.Module):
    def __init__(self, obs=3, act=1):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(obs + act, 16), nn.Linear(16, 1)

    def forward(self, x, a):
        return self.fc2(F.relu(self.fc1(torch.cat([x, a], 1))))


class Actor(nn.Module):
    def __init__(self, obs=3, act=1):
        super().__init__()
        self.fc1, self.fc_mean, self.fc_logstd = nn.Linear(obs, 16), nn.Linear(16, act), nn.Linear(16, act)
        self.register_buffer("action_scale", torch.ones(act))
        self.register_buffer("action_bias", torch.zeros(act))

    def forward(self, x):
        x = F.relu(self.fc1(x))
        log_std = torch.tanh(self.fc_logstd(x))
        return self.fc_mean(x), LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)

    def get_action(self, x):
        mean, log_std = self(x)
        normal = torch.distributions.Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        log_prob = normal.log_prob(x_t) - torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        return y_t * self.action_scale + self.action_bias, log_prob.sum(1, keepdim=True), torch.tanh(mean)


class Temperature:
    def __init__(self, act_dim, lr, autotune=True):
        self.autotune, self.target_entropy = autotune, -float(act_dim)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp().item()
        self.optimizer = optim.Adam([self.log_alpha], lr=lr)

    def update(self, actor, obs):
        if not self.autotune:
            return
        with torch.no_grad():
            _, log_pi, _ = actor.get_action(obs)
        alpha_loss = (-self.log_alpha.exp() * (log_pi + self.target_entropy)).mean()
        self.optimizer.zero_grad()
        alpha_loss.backward()
        self.optimizer.step()  # cause


def soft_update(net, target, tau=0.05):
    for param, target_param in zip(net.parameters(), target.parameters()):
        target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)


def run(gamma=0.99, policy_frequency=2):
    torch.manual_seed(1)
    actor = Actor()
    qf1, qf2, qf1_target, qf2_target = (SoftQNetwork() for _ in range(4))
    qf1_target.load_state_dict(qf1.state_dict())
    qf2_target.load_state_dict(qf2.state_dict())
    q_optimizer = optim.Adam(list(qf1.parameters()) + list(qf2.parameters()), lr=1e-3)
    actor_optimizer = optim.Adam(actor.parameters(), lr=3e-4)
    temperature = Temperature(1, lr=1e-2)
    trace = []
    for global_step in range(4):
        obs, next_obs = torch.randn(16, 3), torch.randn(16, 3)
        actions, rewards, dones = torch.rand(16, 1) * 2 - 1, torch.randn(16, 1), (torch.rand(16, 1) > 0.9).float()
        with torch.no_grad():
            next_a, next_log_pi, _ = actor.get_action(next_obs)
            min_qf_next = (
                torch.min(qf1_target(next_obs, next_a), qf2_target(next_obs, next_a)) - temperature.alpha * next_log_pi
            )
            next_q_value = rewards + (1 - dones) * gamma * min_qf_next
        qf_loss = F.mse_loss(qf1(obs, actions), next_q_value) + F.mse_loss(qf2(obs, actions), next_q_value)
        q_optimizer.zero_grad()
        qf_loss.backward()
        q_optimizer.step()
        if global_step % policy_frequency == 0:
            for _ in range(policy_frequency):
                pi, log_pi, _ = actor.get_action(obs)
                actor_loss = (temperature.alpha * log_pi - torch.min(qf1(obs, pi), qf2(obs, pi))).mean()
                actor_optimizer.zero_grad()
                actor_loss.backward()
                actor_optimizer.step()
                temperature.update(actor, obs)
        soft_update(qf1, qf1_target)
        soft_update(qf2, qf2_target)
        trace.append((temperature.log_alpha.exp().item(), temperature.alpha))
    return trace


def verify(trace):
    assert trace[-1][0] != 1.0 and all(used == 1.0 for _, used in trace)


TRUTH = Truth(
    fault="log_alpha is trained but never used: alpha keeps its first value",
    names=("log_alpha",),
    repair=("self.optimizer.step()\nself.alpha = self.log_alpha.exp().item()",),
)
