"""DDPM with EMA: the averaged weights are swapped in for samples and never swapped out."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class EMA:
    def __init__(self, model, decay=0.9):
        self.model, self.decay = model, decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self):
        for n, p in self.model.named_parameters():
            self.shadow[n].lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def apply_shadow(self):
        for n, p in self.model.named_parameters():
            self.backup[n] = p.detach().clone()
            p.copy_(self.shadow[n])

    @torch.no_grad()
    def restore(self):
        for n, p in self.model.named_parameters():
            p.copy_(self.backup[n])
        self.backup = {}


class Denoiser(nn.Module):
    def __init__(self, width=2, hidden=32, steps=20):
        super().__init__()
        self.time = nn.Embedding(steps, hidden)
        self.inp = nn.Linear(width, hidden)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.out = nn.Linear(hidden, width)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.time(t)))


class Diffusion:
    def __init__(self, steps=20):
        self.steps = steps
        self.betas = torch.linspace(1e-3, 0.2, steps)
        self.alpha_bar = torch.cumprod(1 - self.betas, 0)

    def loss(self, model, x0):
        t = torch.randint(0, self.steps, (len(x0),))
        a = self.alpha_bar[t].unsqueeze(1)
        noise = torch.randn_like(x0)
        return F.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for t in reversed(range(self.steps)):
            eps = model(x, torch.full((n,), t))
            beta, bar = self.betas[t], self.alpha_bar[t]
            x = (x - beta / (1 - bar).sqrt() * eps) / (1 - beta).sqrt()
            if t:
                x = x + beta.sqrt() * torch.randn_like(x)
        return x


def evaluate(diffusion, model, ema, reference):
    model.eval()
    ema.apply_shadow()  # also
    samples = diffusion.sample(model, 16)
    model.train()  # cause
    return (samples.mean(0) - reference.mean(0)).norm().item()


def run():
    torch.manual_seed(0)
    model, diffusion = Denoiser(), Diffusion()
    ema = EMA(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-4)
    jumps = []
    for step in range(4):
        x0 = torch.randn(32, 2) * 0.1 + torch.tensor([1.0, -1.0])
        loss = diffusion.loss(model, x0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update()
        if step % 2 == 1:
            weights = model.out.weight.detach().clone()
            evaluate(diffusion, model, ema, x0)
            jumps.append((model.out.weight.detach() - weights).abs().max().item())
    return jumps


def verify(jumps):
    assert all(jump > 1e-3 for jump in jumps)


TRUTH = Truth(
    fault="ema.restore() is never called: after each evaluation training goes on from the averaged weights",
    names=("apply_shadow", "restore", "shadow"),
    repair=("ema.restore()\nmodel.train()",),
)
