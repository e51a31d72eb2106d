"""Reinforcement learning: a context manager that freezes a model switches everything on at its end, the pretrained encoder too."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    embed: int = 12
    deter: int = 16
    stoch: int = 6
    actions: int = 3
    horizon: int = 4
    discount: float = 0.97
    lambda_: float = 0.95
    lr: float = 5e-3
    steps: int = 3


class FreezeParameters:
    def __init__(self, *modules):
        self.parameters = [p for m in modules for p in m.parameters()]  # cause

    def __enter__(self):
        for p in self.parameters:
            p.requires_grad = False

    def __exit__(self, *exc):
        for p in self.parameters:
            p.requires_grad = True  # also


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 24), nn.ELU(), nn.Linear(24, cfg.embed))

    def forward(self, obs):
        return self.net(obs)


class RSSM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.cell = nn.GRUCell(cfg.stoch + cfg.actions, cfg.deter)
        self.prior = nn.Linear(cfg.deter, 2 * cfg.stoch)
        self.post = nn.Linear(cfg.deter + cfg.embed, 2 * cfg.stoch)

    def dist(self, stats):
        mean, std = stats.chunk(2, -1)
        return torch.distributions.Normal(mean, F.softplus(std) + 0.1)

    def step(self, h, z, a, embed=None):
        h = self.cell(torch.cat([z, a], -1), h)
        prior = self.dist(self.prior(h))
        if embed is None:
            return h, prior.rsample(), prior, None
        post = self.dist(self.post(torch.cat([h, embed], -1)))
        return h, post.rsample(), prior, post


class WorldModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.encoder, self.rssm = Encoder(cfg), RSSM(cfg)
        self.decoder = nn.Linear(cfg.deter + cfg.stoch, cfg.embed)
        self.reward = nn.Linear(cfg.deter + cfg.stoch, 1)
        self.encoder.requires_grad_(False)  # a pretrained representation, kept as it is

    def loss(self, obs, actions, rewards):
        T, B = obs.shape[:2]
        h, z = torch.zeros(B, self.cfg.deter), torch.zeros(B, self.cfg.stoch)
        total, states = 0, []
        for t in range(T):
            embed = self.encoder(obs[t])
            h, z, prior, post = self.rssm.step(h, z, actions[t], embed)
            feat = torch.cat([h, z], -1)
            kl = torch.distributions.kl_divergence(post, prior).sum(-1).clamp(min=0.1).mean()
            rew = F.mse_loss(self.reward(feat).squeeze(-1), rewards[t])
            total = total + kl + F.mse_loss(self.decoder(feat), embed.detach()) + rew
            states.append((h.detach(), z.detach()))
        return total / T, states[-1]


def imagine(world, actor, h, z, horizon):
    feats = []
    for _ in range(horizon):
        a = torch.tanh(actor(torch.cat([h, z], -1)))
        h, z, _, _ = world.rssm.step(h, z, a)
        feats.append(torch.cat([h, z], -1))
    return torch.stack(feats)


def lambda_return(reward, value, cfg):
    out, last = [], value[-1]
    for t in reversed(range(len(reward))):
        last = reward[t] + cfg.discount * ((1 - cfg.lambda_) * value[t] + cfg.lambda_ * last)
        out.append(last)
    return torch.stack(out[::-1])


def run():
    torch.manual_seed(0)
    cfg = Config()
    world = WorldModel(cfg)
    actor, critic = nn.Linear(cfg.deter + cfg.stoch, cfg.actions), nn.Linear(cfg.deter + cfg.stoch, 1)
    opts = [torch.optim.Adam(m.parameters(), lr=cfg.lr) for m in (world, actor, critic)]
    history = [world.encoder.net[0].weight.detach().clone()]
    for _ in range(cfg.steps):
        obs, act, rew = torch.randn(5, 8, 10), torch.rand(5, 8, 3) * 2 - 1, torch.randn(5, 8)
        world_loss, (h, z) = world.loss(obs, act, rew)
        opts[0].zero_grad()
        world_loss.backward()
        opts[0].step()
        with FreezeParameters(world, critic):
            feats = imagine(world, actor, h, z, cfg.horizon)
            returns = lambda_return(world.reward(feats), critic(feats), cfg)
            actor_loss = -returns.mean()
            opts[1].zero_grad()
            actor_loss.backward()
            opts[1].step()
        critic_loss = F.mse_loss(critic(feats.detach()), returns.detach())
        opts[2].zero_grad()
        critic_loss.backward()
        opts[2].step()
        history.append(world.encoder.net[0].weight.detach().clone())
    return history


def verify(history):
    assert torch.equal(history[0], history[1])
    assert not torch.equal(history[1], history[2])


TRUTH = Truth(
    fault="__exit__ sets requires_grad=True for all instead of what it was: from the second step the frozen encoder trains",
    names=("encoder",),
    repair=("self.parameters = [p for m in modules for p in m.parameters() if p.requires_grad]",),
)
