"""Diffusion: the noise schedule was registered as parameters in place of buffers, and the optimizer learns it along."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def cosine_beta_schedule(timesteps, s=0.008):
    t = torch.linspace(0, timesteps, timesteps + 1, dtype=torch.float64) / timesteps
    alphas_cumprod = torch.cos((t + s) / (1 + s) * math.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    return torch.clip(1 - alphas_cumprod[1:] / alphas_cumprod[:-1], 0, 0.999).float()


def extract(a, t, x_shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freq = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        arg = t[:, None] * freq[None]
        return torch.cat((arg.sin(), arg.cos()), dim=-1)


class Unet(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.inc = nn.Conv2d(1, dim, 3, padding=1)
        self.down = nn.Conv2d(dim, dim, 3, 2, 1)
        self.up = nn.ConvTranspose2d(dim, dim, 2, 2)
        self.out = nn.Conv2d(2 * dim, 1, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.inc(x))
        m = F.silu(self.down(h) + self.time_mlp(t)[:, :, None, None])
        return self.out(torch.cat((self.up(m), h), 1))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, timesteps=20):
        super().__init__()
        self.model = model
        self.num_timesteps = timesteps
        betas = cosine_beta_schedule(timesteps)
        alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)

        def register(name, val):
            self.register_parameter(name, nn.Parameter(val))  # cause

        register("sqrt_alphas_cumprod", torch.sqrt(alphas_cumprod))
        register("sqrt_one_minus_alphas_cumprod", torch.sqrt(1.0 - alphas_cumprod))

    def q_sample(self, x_start, t, noise):
        return (
            extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start
            + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise
        )

    def p_losses(self, x_start, t):
        noise = torch.randn_like(x_start)
        x = self.q_sample(x_start, t, noise)
        return F.mse_loss(self.model(x, t), noise)

    def forward(self, img):
        t = torch.randint(0, self.num_timesteps, (img.shape[0],))
        return self.p_losses(img * 2 - 1, t)


class Trainer:
    def __init__(self, diffusion, data, lr=1e-3, grad_accum=2):
        self.model, self.data, self.grad_accum = diffusion, data, grad_accum
        self.opt = torch.optim.Adam(diffusion.parameters(), lr=lr, betas=(0.9, 0.99))

    def train(self, steps):
        for step in range(steps):
            for _ in range(self.grad_accum):
                batch = self.data[torch.randint(0, len(self.data), (8,))]
                loss = self.model(batch) / self.grad_accum
                loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.opt.zero_grad()
        return loss.item()


def run():
    torch.manual_seed(10)
    diffusion = GaussianDiffusion(Unet())
    before = diffusion.sqrt_alphas_cumprod.detach().clone()
    Trainer(diffusion, torch.rand(32, 1, 8, 8)).train(4)
    return before, diffusion.sqrt_alphas_cumprod.detach().clone()


def verify(outcome):
    before, after = outcome
    assert not torch.equal(before, after)


TRUTH = Truth(
    fault="the diffusion schedule is trained, it was made of parameters and not buffers",
    names=("sqrt_alphas_cumprod",),
    repair=("self.register_buffer(name, val)",),
)
