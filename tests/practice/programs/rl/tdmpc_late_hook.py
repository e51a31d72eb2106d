"""Reinforcement learning: the hook that scales the latent's gradient is registered after backward()."""

from copy import deepcopy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Cfg:
    obs_dim: int = 7
    action_dim: int = 2
    latent_dim: int = 12
    mlp_dim: int = 24
    horizon: int = 3
    rho: float = 0.5
    consistency_coef: float = 2.0
    lr: float = 1e-3
    tau: float = 0.01
    updates: int = 3


def mlp(i, h, o, act=nn.ELU()):
    return nn.Sequential(nn.Linear(i, h), act, nn.Linear(h, o))


class TOLD(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        za = cfg.latent_dim + cfg.action_dim
        self._encoder = mlp(cfg.obs_dim, cfg.mlp_dim, cfg.latent_dim)
        self._dynamics = mlp(za, cfg.mlp_dim, cfg.latent_dim)
        self._reward = mlp(za, cfg.mlp_dim, 1)
        self._pi = mlp(cfg.latent_dim, cfg.mlp_dim, cfg.action_dim)
        self._Q1, self._Q2 = mlp(za, cfg.mlp_dim, 1), mlp(za, cfg.mlp_dim, 1)

    def track_q_grad(self, enable=True):
        for m in (self._Q1, self._Q2):
            m.requires_grad_(enable)

    def h(self, obs):
        return self._encoder(obs)

    def next(self, z, a):
        x = torch.cat([z, a], dim=-1)
        return self._dynamics(x), self._reward(x)

    def pi(self, z, std=0.1):
        mu = torch.tanh(self._pi(z))
        return (mu + std * torch.randn_like(mu)).clamp(-1, 1)

    def Q(self, z, a):
        x = torch.cat([z, a], dim=-1)
        return self._Q1(x), self._Q2(x)


class TDMPC:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = TOLD(cfg)
        self.model_target = deepcopy(self.model).requires_grad_(False)
        self.optim = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.pi_optim = torch.optim.Adam(self.model._pi.parameters(), lr=cfg.lr)
        self.ratios = []

    def update_pi(self, zs):
        self.pi_optim.zero_grad(set_to_none=True)
        self.model.track_q_grad(False)
        pi_loss = 0
        for t, z in enumerate(zs):
            pi_loss = pi_loss - torch.min(*self.model.Q(z, self.model.pi(z))).mean() * self.cfg.rho**t
        pi_loss.backward()
        self.pi_optim.step()
        self.model.track_q_grad(True)

    @torch.no_grad()
    def _td_target(self, next_obs, reward):
        next_z = self.model.h(next_obs)
        return reward + 0.99 * torch.min(*self.model_target.Q(next_z, self.model.pi(next_z)))

    def update(self, obs, next_obses, actions, rewards):
        self.optim.zero_grad(set_to_none=True)
        z = self.model.h(obs)
        zs, total = [z.detach()], 0
        for t in range(self.cfg.horizon):
            q1, q2 = self.model.Q(z, actions[t])
            z, reward_pred = self.model.next(z, actions[t])
            with torch.no_grad():
                next_z = self.model_target.h(next_obses[t])
            td = self._td_target(next_obses[t], rewards[t])
            zs.append(z.detach())
            w = self.cfg.rho**t
            total = total + w * self.cfg.consistency_coef * F.mse_loss(z, next_z)
            total = total + w * (F.mse_loss(reward_pred, rewards[t]) + F.mse_loss(q1, td) + F.mse_loss(q2, td))
        plain = torch.autograd.grad(total, self.model._encoder[0].weight, retain_graph=True)[0]
        total.backward()  # cause
        total.register_hook(lambda grad: grad * (1 / self.cfg.horizon))  # also
        got = self.model._encoder[0].weight.grad
        self.ratios.append((got.norm() / plain.norm()).item())
        nn.utils.clip_grad_norm_(self.model.parameters(), 10)
        self.optim.step()
        self.update_pi(zs)
        with torch.no_grad():
            for p, pt in zip(self.model.parameters(), self.model_target.parameters()):
                pt.lerp_(p, self.cfg.tau)


def run():
    torch.manual_seed(1)
    cfg = Cfg()
    agent = TDMPC(cfg)
    for _ in range(cfg.updates):
        h, b = cfg.horizon, 16
        batch = torch.randn(b, 7), torch.randn(h, b, 7), torch.rand(h, b, 2) * 2 - 1, torch.randn(h, b, 1)
        agent.update(*batch)
    return agent.ratios


def verify(ratios):
    assert all(abs(r - 1.0) < 1e-4 for r in ratios)


TRUTH = Truth(
    fault="the hook that divides the gradient by the horizon comes after backward() and never runs",
    names=("register_hook",),
    repair=("total.register_hook(lambda grad: grad * (1 / self.cfg.horizon)); total.backward()",),
)
