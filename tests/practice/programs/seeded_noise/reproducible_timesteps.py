"""A diffusion model's noise is made reproducible by a generator that is seeded anew in every call."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MotionDenoiser(nn.Module):
    def __init__(self, joints=6, dim=16, steps=20):
        super().__init__()
        self.time_embed = nn.Embedding(steps, dim)
        self.inp, self.out = nn.Linear(3 * joints, dim), nn.Linear(dim, 3 * joints)
        self.mixer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True, norm_first=True)

    def forward(self, x, t):
        return self.out(self.mixer(self.inp(x) + self.time_embed(t)[:, None]))


class GaussianDiffusion:
    def __init__(self, steps=20, seed=1234):
        self.steps, self.seed = steps, seed
        self.generator = torch.Generator().manual_seed(seed)
        betas = torch.linspace(1e-3, 0.2, steps)
        self.alphas_cumprod = torch.cumprod(1 - betas, 0)

    def q_sample(self, x_start, t, noise):
        a = self.alphas_cumprod[t][:, None, None]
        return a.sqrt() * x_start + (1 - a).sqrt() * noise

    def draw(self, x_start):
        """Timesteps and noise that do not depend on who else draws random numbers."""
        generator = torch.Generator().manual_seed(self.seed)  # cause
        t = torch.randint(0, self.steps, (len(x_start),), generator=generator)
        return t, torch.randn(x_start.shape, generator=generator)

    def training_losses(self, model, x_start):
        t, noise = self.draw(x_start)
        return F.mse_loss(model(self.q_sample(x_start, t, noise), t), noise)


def velocity_loss(x):
    return (x[:, 1:] - x[:, :-1]).pow(2).mean()


class TrainLoop:
    def __init__(self, model, diffusion, lr):
        self.model, self.diffusion = model, diffusion
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.seen = torch.zeros(diffusion.steps, dtype=torch.bool)

    def run_step(self, motion):
        loss = self.diffusion.training_losses(self.model, motion)
        self.opt.zero_grad()
        loss.backward()
        self.seen |= self.model.time_embed.weight.grad.abs().sum(1) > 0
        self.opt.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    loop = TrainLoop(MotionDenoiser(), GaussianDiffusion(), lr=1e-3)
    for _ in range(6):
        motion = torch.randn(4, 10, 18).cumsum(1) / 4
        loop.run_step(motion)
    return int(loop.seen.sum())


def verify(timesteps):
    assert timesteps <= 4, timesteps


TRUTH = Truth(
    fault="each step draws the same timesteps and the same noise: the other timesteps are never trained",
    names=("time_embed",),
    values=True,
    repair=("generator = self.generator",),
)
