"""A denoiser with model.compile(): the embedding of the time step is computed as the sampler computes it."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("time_mlp",)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time_mlp = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))
        self.inp, self.mid, self.out = (
            nn.Conv2d(1, 16, 3, padding=1),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.Conv2d(16, 1, 1),
        )

    @torch.no_grad()  # cause
    def embed(self, t):
        freqs = torch.exp(-math.log(1e4) * torch.arange(4) / 4)
        angles = t[:, None].float() * freqs[None]
        return self.time_mlp(torch.cat([angles.sin(), angles.cos()], dim=1))

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.embed(t)[:, :, None, None])
        return self.out(F.silu(self.mid(h)))


def setup():
    global model, optimizer, alphas
    torch.manual_seed(0)
    model = Denoiser()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 50), 0)


def run():
    for _ in range(2):
        clean, t = torch.rand(4, 1, 8, 8), torch.randint(0, 50, (4,))
        noise, a = torch.randn_like(clean), alphas[t][:, None, None, None]
        loss = F.mse_loss(model(a.sqrt() * clean + (1 - a).sqrt() * noise, t), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
