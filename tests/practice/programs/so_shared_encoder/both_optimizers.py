"""Actor and critic with one encoder: both optimizers hold it, and the joint loss steps it twice."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, n_obs, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, dim), nn.LayerNorm(dim), nn.Tanh())

    def forward(self, obs):
        return self.net(obs)


class Actor(nn.Module):
    def __init__(self, encoder, dim, n_act):
        super().__init__()
        self.encoder = encoder
        self.mu = nn.Linear(dim, n_act)

    def forward(self, obs):
        return torch.tanh(self.mu(self.encoder(obs)))


class Critic(nn.Module):
    def __init__(self, encoder, dim):
        super().__init__()
        self.encoder = encoder
        self.q = nn.Linear(dim, 1)

    def forward(self, obs):
        return self.q(self.encoder(obs)).squeeze(-1)


class Agent:
    def __init__(self, lr=1e-2):
        enc = Encoder(4, 12)
        self.actor = Actor(enc, 12, 2)
        self.critic = Critic(enc, 12)
        self.encoder = enc
        self.actor_opt = torch.optim.SGD(self.actor.parameters(), lr=lr)  # cause
        self.critic_opt = torch.optim.SGD(self.critic.parameters(), lr=lr)  # also

    def update(self, obs, act, ret):
        loss = F.mse_loss(self.actor(obs), act) + 0.5 * F.mse_loss(self.critic(obs), ret)
        for opt in (self.actor_opt, self.critic_opt):
            opt.zero_grad()
        loss.backward()
        for opt in (self.actor_opt, self.critic_opt):
            opt.step()
        return loss.item()


def run():
    torch.manual_seed(13)
    lr = 1e-2
    agent = Agent(lr)
    factors = []
    for _ in range(3):
        obs = torch.randn(16, 4)
        w = agent.encoder.net[0].weight
        before = w.detach().clone()
        agent.update(obs, obs[:, :2].sin(), obs.sum(1))
        factors.append(((before - w.detach()).norm() / (lr * w.grad.norm())).item())
    return factors


def verify(factors):
    assert all(abs(f - 2) < 1e-2 for f in factors), factors


TRUTH = Truth(
    fault="the shared encoder is in both optimizers and is stepped twice with the same gradient",
    names=("encoder",),
    repair=("self.actor_opt = torch.optim.SGD(self.actor.mu.parameters(), lr=lr)",),
)
