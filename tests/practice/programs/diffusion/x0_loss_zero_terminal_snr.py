"""A zero-terminal-SNR schedule, but x0 is recovered from a noise prediction: division by sqrt(0) at the last step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def enforce_zero_terminal_snr(betas):
    sqrt_abar = (1 - betas).cumprod(0).sqrt()
    first, last = sqrt_abar[0].clone(), sqrt_abar[-1].clone()
    sqrt_abar = (sqrt_abar - last) * first / (first - last)
    return sqrt_abar**2


class Denoiser(nn.Module):
    def __init__(self, dim=6, steps=10):
        super().__init__()
        self.t = nn.Embedding(steps, 16)
        self.net = nn.Sequential(nn.Linear(dim + 16, 32), nn.SiLU(), nn.Linear(32, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.t(t)], dim=-1))


class GaussianDiffusion:
    def __init__(self, steps=10):
        betas = torch.linspace(1e-4, 0.4, steps)
        self.abar = enforce_zero_terminal_snr(betas)
        self.steps = steps

    def q_sample(self, x0, t, noise):
        a = self.abar[t, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def predict_x0(self, xt, t, eps):
        a = self.abar[t, None]
        return (xt - (1 - a).sqrt() * eps) / a.sqrt()  # cause

    def loss(self, model, x0, t):
        noise = torch.randn_like(x0)
        xt = self.q_sample(x0, t, noise)
        eps = model(xt, t)
        x0_hat = self.predict_x0(xt, t, eps).clamp(-1, 1)
        weight = self.abar[t]  # emphasise the clean end
        recon = ((x0_hat - x0) ** 2).mean(-1)
        return F.mse_loss(eps, noise) + 0.1 * (weight * recon).mean()


def run():
    torch.manual_seed(3)
    model, diffusion = Denoiser(), GaussianDiffusion()
    opt = torch.optim.Adam(model.parameters(), lr=2e-4)
    for step in range(2):
        x0 = torch.rand(10, 6) * 2 - 1
        t = torch.randperm(diffusion.steps)
        loss = diffusion.loss(model, x0, t)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{step}: {loss.item():.4f}")
    return model


def verify(out):
    assert not torch.isfinite(out.net[0].weight).all()


TRUTH = Truth(
    fault="division by a zero signal level at the last timestep",
    values=True,
    repair=("return (xt - (1 - a).sqrt() * eps) / a.sqrt().clamp(min=1e-3)",),
)
