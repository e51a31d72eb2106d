"""Noise prediction training of a DDPM on two-dimensional points."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class Denoiser(nn.Module):
    def __init__(self, dim=2, width=32):
        super().__init__()
        self.time = nn.Embedding(50, width)
        self.inp = nn.Linear(dim, width)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, x, t):
        return self.out(self.inp(x) + self.time(t))


class Diffusion(nn.Module):
    def __init__(self, net, timesteps=50, beta_start=1e-3, beta_end=0.05):
        super().__init__()
        self.net = net
        self.timesteps = timesteps
        betas = torch.linspace(beta_start, beta_end, timesteps)
        self.alphas_cumprod = nn.Parameter(torch.cumprod(1 - betas, 0))  # cause

    def q_sample(self, x0, t, noise):
        a = self.alphas_cumprod[t].unsqueeze(-1)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def forward(self, x0):
        t = torch.randint(0, self.timesteps, (x0.size(0),))
        noise = torch.randn_like(x0)
        return F.mse_loss(self.net(self.q_sample(x0, t, noise), t), noise)


def train(diffusion, data, steps=6, lr=1e-3):
    opt = torch.optim.AdamW(diffusion.parameters(), lr=lr, weight_decay=0.0)
    for step in range(steps):
        batch = data[torch.randint(0, len(data), (32,))]
        loss = diffusion(batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def run():
    torch.manual_seed(11)
    diffusion = Diffusion(Denoiser())
    schedule = diffusion.alphas_cumprod.detach().clone()
    train(diffusion, torch.randn(200, 2) * 0.3 + 1)
    return schedule, diffusion


TRUTH = Truth(
    fault="the noise schedule is a parameter and is trained",
    names=("alphas_cumprod",),
    repair=("self.register_buffer('alphas_cumprod', torch.cumprod(1 - betas, 0))",),
)


def well(out):
    schedule, diffusion = out
    assert torch.equal(schedule, diffusion.alphas_cumprod)


verify = fails(well)
