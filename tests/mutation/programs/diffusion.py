import copy
import math

import torch
from torch import nn
import torch.nn.functional as F


class SinusoidalEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half) / (half - 1))
        args = t[:, None].float() * freqs[None]
        return torch.cat([args.sin(), args.cos()], dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=6, hidden=16):
        super().__init__()
        self.time = nn.Sequential(SinusoidalEmbedding(8), nn.Linear(8, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.inp = nn.Linear(dim, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, dim)
        self.act = nn.SiLU()

    def forward(self, x, t):
        emb = self.time(t)
        h = self.act(self.inp(x) + emb)
        h = h + self.mid(self.act(h))
        return self.out(h)


@torch.no_grad()
def update_ema(ema_model, model, decay=0.99):
    ema_params = dict(ema_model.named_parameters())
    for name, param in model.named_parameters():
        ema_params[name].mul_(decay).add_(param.data, alpha=1 - decay)


@torch.no_grad()
def sample(model, betas, shape):
    alphas_cumprod = torch.cumprod(1 - betas, 0)
    x = torch.randn(shape)
    for i in reversed(range(0, len(betas), 5)):
        eps = model(x, torch.full((shape[0],), i))
        x = (x - betas[i] / (1 - alphas_cumprod[i]).sqrt() * eps) / (1 - betas[i]).sqrt()
    return x


def run():
    betas = torch.linspace(1e-4, 0.02, 20)
    alphas_cumprod = torch.cumprod(1 - betas, 0)
    model = Denoiser()
    ema = copy.deepcopy(model).requires_grad_(False).eval()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0)
    log = []
    for step in range(4):
        x0 = torch.randn(8, 6)
        t = torch.randint(0, 20, (8,))
        noise = torch.randn_like(x0)
        a = alphas_cumprod[t][:, None]
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        pred = model(xt, t)
        loss = F.mse_loss(pred, noise)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        update_ema(ema, model)
        log.append(loss.item())
    return model, ema, sample(ema, betas, (2, 6))
