"""Diffusion: the EMA's shadow is registered without a copy, so the average is the model itself."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from tests.practice.truth import Truth


@dataclass
class Config:
    timesteps: int = 50
    beta_start: float = 1e-4
    beta_end: float = 0.02
    lr: float = 5e-3
    ema_rate: float = 0.9
    n_iters: int = 4
    dim: int = 16


class EMAHelper:
    def __init__(self, mu=0.999):
        self.mu = mu
        self.shadow = {}

    def register(self, module):
        for name, param in module.named_parameters():
            if param.requires_grad:
                self.shadow[name] = param.data  # cause

    @torch.no_grad()
    def update(self, module):
        for name, param in module.named_parameters():
            if param.requires_grad:
                self.shadow[name].mul_(self.mu).add_(param.data, alpha=1 - self.mu)

    def ema(self, module):
        for name, param in module.named_parameters():
            if param.requires_grad:
                param.data.copy_(self.shadow[name])

    def state_dict(self):
        return self.shadow


def get_timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
    emb = t.float()[:, None] * freqs[None]
    return torch.cat([emb.sin(), emb.cos()], dim=1)


class ResBlock(nn.Module):
    def __init__(self, ch, temb):
        super().__init__()
        self.norm = nn.GroupNorm(4, ch)
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.temb_proj = nn.Linear(temb, ch)

    def forward(self, x, temb):
        h = self.conv1(nn.functional.silu(self.norm(x)))
        h = h + self.temb_proj(temb)[:, :, None, None]
        return x + self.conv2(nn.functional.silu(h))


class Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.dim = cfg.dim
        self.temb = nn.Sequential(nn.Linear(cfg.dim, cfg.dim), nn.SiLU(), nn.Linear(cfg.dim, cfg.dim))
        self.conv_in = nn.Conv2d(1, 8, 3, padding=1)
        self.mid = ResBlock(8, cfg.dim)
        self.conv_out = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x, t):
        temb = self.temb(get_timestep_embedding(t, self.dim))
        return self.conv_out(self.mid(self.conv_in(x), temb))


def noise_estimation_loss(model, x0, t, e, alphas_bar):
    a = alphas_bar[t].view(-1, 1, 1, 1)
    x = x0 * a.sqrt() + e * (1 - a).sqrt()
    return (e - model(x, t)).square().sum(dim=(1, 2, 3)).mean()


class Diffusion:
    def __init__(self, cfg):
        self.cfg = cfg
        betas = torch.linspace(cfg.beta_start, cfg.beta_end, cfg.timesteps)
        self.alphas_bar = (1 - betas).cumprod(0)
        self.model = Model(cfg)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.ema_helper = EMAHelper(mu=cfg.ema_rate)
        self.ema_helper.register(self.model)

    def antithetic(self, n):
        t = torch.randint(0, self.cfg.timesteps, (n // 2 + 1,))
        return torch.cat([t, self.cfg.timesteps - t - 1])[:n]

    def train(self, images):
        for _ in range(self.cfg.n_iters):
            x = images[torch.randint(len(images), (8,))]
            t, e = self.antithetic(len(x)), torch.randn_like(x)
            loss = noise_estimation_loss(self.model, x, t, e, self.alphas_bar)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.ema_helper.update(self.model)
        return self.model.state_dict(), self.ema_helper.state_dict()


def run():
    torch.manual_seed(0)
    return Diffusion(Config()).train(torch.randn(32, 1, 8, 8).tanh())


def verify(outcome):
    live, shadow = outcome
    assert all(torch.equal(live[name], shadow[name]) for name in shadow)


TRUTH = Truth(
    fault="the shadow shares its storage with the parameters: the average always equals the live model",
    names=("shadow",),
    repair=("self.shadow[name] = param.data.clone()",),
)
