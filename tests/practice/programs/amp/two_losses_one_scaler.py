"""A GAN under one scaler: two optimizers, each unscaled and stepped by itself, and one update of the scale per round."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    g = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
    d = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    opt_g, opt_d = torch.optim.Adam(g.parameters(), 2e-3), torch.optim.Adam(d.parameters(), 2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    penalties, losses = [], []
    for it in range(4):
        real, z = torch.randn(8, 6), torch.randn(8, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            fake = g(z)
            d_loss = F.softplus(-d(real).float()).mean() + F.softplus(d(fake.detach()).float()).mean()
        if it % 2 == 0:
            x = real.clone().requires_grad_(True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                score = d(x)
            scaled = torch.autograd.grad(scaler.scale(score.float().sum()), x, create_graph=True)[0]
            grad = scaled / scaler.get_scale()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                penalty = grad.pow(2).sum(1).mean()
            d_loss = d_loss + 1.0 * penalty
            penalties.append(penalty.item())
        opt_d.zero_grad()
        scaler.scale(d_loss).backward()
        scaler.unscale_(opt_d)
        nn.utils.clip_grad_norm_(d.parameters(), 5.0)
        scaler.step(opt_d)

        for p in d.parameters():
            p.requires_grad_(False)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            g_loss = F.softplus(-d(fake).float()).mean()
        opt_g.zero_grad()
        scaler.scale(g_loss).backward()
        scaler.step(opt_g)
        for p in d.parameters():
            p.requires_grad_(True)
        scaler.update()
        losses.append((d_loss.item(), g_loss.item()))
    return g, d, penalties, losses


TRUTH = Truth()


def verify(out):
    g, d, penalties, losses = out
    assert all(p.grad.abs().sum() > 0 for m in (g, d) for p in m.parameters()) and len(penalties) == 2
    assert all(0 < v < 100 for row in losses for v in row)
