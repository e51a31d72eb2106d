"""SAC: the loss of the temperature still holds the actor's graph, which the actor's update has just freed."""

import copy

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, 16), nn.ReLU())
        self.mean = nn.Linear(16, act_dim)
        self.log_std = nn.Linear(16, act_dim)

    def forward(self, obs):
        h = self.trunk(obs)
        dist = Normal(self.mean(h), self.log_std(h).clamp(-5, 2).exp())
        u = dist.rsample()
        a = torch.tanh(u)
        log_prob = (dist.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1, keepdim=True)
        return a, log_prob


class Critic(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(obs_dim + act_dim, 16), nn.ReLU(), nn.Linear(16, 1))
        self.q2 = nn.Sequential(nn.Linear(obs_dim + act_dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, obs, act):
        x = torch.cat([obs, act], -1)
        return self.q1(x), self.q2(x)


def run():
    torch.manual_seed(0)
    actor, critic = Actor(4, 2), Critic(4, 2)
    critic_target = copy.deepcopy(critic).requires_grad_(False)
    log_alpha = torch.zeros(1, requires_grad=True)
    target_entropy = -2.0
    actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-4)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-4)
    alpha_opt = torch.optim.Adam([log_alpha], lr=3e-4)
    for _ in range(2):
        obs, act, rew, nxt = torch.randn(8, 4), torch.rand(8, 2) * 2 - 1, torch.randn(8, 1), torch.randn(8, 4)
        with torch.no_grad():
            a2, lp2 = actor(nxt)
            q = torch.min(*critic_target(nxt, a2)) - log_alpha.exp() * lp2
            y = rew + 0.99 * q
        q1, q2 = critic(obs, act)
        critic_loss = nn.functional.mse_loss(q1, y) + nn.functional.mse_loss(q2, y)
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()

        pi, log_prob = actor(obs)
        alpha = log_alpha.exp().detach()
        actor_loss = (alpha * log_prob - torch.min(*critic(obs, pi))).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()

        alpha_loss = -(log_alpha * (log_prob + target_entropy)).mean()  # cause
        alpha_opt.zero_grad()
        alpha_loss.backward()  # symptom
        alpha_opt.step()
        with torch.no_grad():
            for p, tp in zip(critic.parameters(), critic_target.parameters()):
                tp.lerp_(p, 0.005)


TRUTH = Truth(
    fault="the temperature's loss uses log_prob without detach",
    raises="Trying to backward through the graph a second time",
    names=("log_prob",),
    repair=("alpha_loss = -(log_alpha * (log_prob + target_entropy).detach()).mean()",),
)
