"""DDPM: the EMA weights are copied in for the preview samples and the trained ones are never put back."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TimeMLP(nn.Module):
    def __init__(self, dim=8, hidden=16):
        super().__init__()
        self.time = nn.Linear(8, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        freqs = torch.exp(-math.log(1000) * torch.arange(4) / 4)
        args = t[:, None].float() * freqs[None]
        emb = torch.cat([args.sin(), args.cos()], dim=-1)
        return self.out(F.silu(self.inp(x) + self.time(emb)))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def copy_to(self, model):
        for n, p in model.named_parameters():
            self.backup[n] = p.detach().clone()
            p.copy_(self.shadow[n])

    @torch.no_grad()
    def restore(self, model):
        for n, p in model.named_parameters():
            p.copy_(self.backup.pop(n))


@torch.no_grad()
def sample(model, alphas, n=4):
    x = torch.randn(n, 8)
    abar = alphas.cumprod(0)
    for i in reversed(range(len(alphas))):
        eps = model(x, torch.full((n,), i))
        x = (x - (1 - alphas[i]) / (1 - abar[i]).sqrt() * eps) / alphas[i].sqrt()
        if i > 0:
            x = x + (1 - alphas[i]).sqrt() * torch.randn_like(x)
    return x


def run():
    torch.manual_seed(0)
    alphas = 1 - torch.linspace(1e-4, 0.02, 10)
    abar = alphas.cumprod(0)
    model = TimeMLP()
    ema = EMA(model, decay=0.995)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(4):
        x0 = torch.randn(16, 8)
        t = torch.randint(0, 10, (16,))
        noise = torch.randn_like(x0)
        xt = abar[t, None].sqrt() * x0 + (1 - abar[t, None]).sqrt() * noise
        loss = F.mse_loss(model(xt, t), noise)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        ema.update(model)
        if step % 2 == 1:
            model.eval()
            ema.copy_to(model)  # also
            preview = sample(model, alphas)  # cause
            model.train()
            print(f"step {step}: loss {loss.item():.4f}, sample std {preview.std().item():.3f}")
    return model, ema


def verify(out):
    model, ema = out
    assert all(torch.equal(p, ema.shadow[n]) for n, p in model.named_parameters())


TRUTH = Truth(
    fault="after the preview the optimizer goes on from the averaged weights",
    repair=("preview = sample(model, alphas)\nema.restore(model)",),
)
