"""SB3-like SAC, the losses backpropagated after each other: the temperature's loss is taken through the policy."""

import torch
import torch.nn as nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.latent_pi = nn.Sequential(nn.Linear(obs, 16), nn.ReLU())
        self.mu, self.log_std = nn.Linear(16, act), nn.Linear(16, act)

    def action_log_prob(self, obs):
        h = self.latent_pi(obs)
        dist = Normal(self.mu(h), self.log_std(h).clamp(-5, 2).exp())
        u = dist.rsample()
        a = u.tanh()
        return a, (dist.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(1, keepdim=True)


class Critic(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.q = nn.ModuleList(nn.Sequential(nn.Linear(obs + act, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(2))

    def forward(self, obs, act):
        x = torch.cat([obs, act], 1)
        return torch.min(self.q[0](x), self.q[1](x))


class SAC:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.log_ent_coef = torch.zeros(1, requires_grad=True)
        self.target_entropy = -2.0
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.ent_opt = torch.optim.Adam([self.log_ent_coef], lr=3e-3)

    def train(self, obs):
        actions, log_prob = self.actor.action_log_prob(obs)
        ent_coef_loss = -(self.log_ent_coef * (log_prob + self.target_entropy)).mean()  # cause
        ent_coef = self.log_ent_coef.exp().detach()
        actor_loss = (ent_coef * log_prob - self.critic(obs, actions)).mean()

        wanted = torch.autograd.grad(actor_loss, self.actor.mu.weight, retain_graph=True)[0]
        self.actor_opt.zero_grad()
        self.ent_opt.zero_grad()
        actor_loss.backward(retain_graph=True)
        ent_coef_loss.backward()
        got = self.actor.mu.weight.grad.clone()
        self.actor_opt.step()
        self.ent_opt.step()
        return wanted, got


def run():
    torch.manual_seed(0)
    agent = SAC()
    return [agent.train(torch.randn(16, 4)) for _ in range(3)]


def verify(outcome):
    for wanted, got in outcome[1:]:
        assert not torch.allclose(wanted, got, rtol=1e-5, atol=1e-9)


TRUTH = Truth(
    fault="log_prob is not detached in the entropy coefficient's loss: its gradient is added to the actor's",
    names=("log_prob", "actor"),
    repair=("ent_coef_loss = -(self.log_ent_coef * (log_prob + self.target_entropy).detach()).mean()",),
)
