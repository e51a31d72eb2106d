"""DDPM with label dropout: an averaged copy samples with guidance, without a gradient, and never learns by itself."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EMA:
    def __init__(self, beta):
        self.beta, self.step = beta, 0

    def step_ema(self, ema_model, model, step_start_ema=1):
        if self.step < step_start_ema:
            ema_model.load_state_dict(model.state_dict())
        else:
            for current, ma in zip(model.parameters(), ema_model.parameters()):
                ma.data = ma.data * self.beta + (1 - self.beta) * current.data
        self.step += 1


class Denoiser(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.time = nn.Embedding(10, 8)
        self.label = nn.Embedding(classes, 8)
        self.inp, self.out = nn.Linear(4, 16), nn.Sequential(nn.SiLU(), nn.Linear(24, 16), nn.SiLU(), nn.Linear(16, 4))

    def forward(self, x, t, y):
        emb = self.time(t)
        if y is not None:
            emb = emb + self.label(y)
        return self.out(torch.cat([self.inp(x), emb], 1))


class Diffusion:
    def __init__(self, steps=10):
        self.steps = steps
        self.beta = torch.linspace(1e-4, 0.2, steps)
        self.alpha = 1.0 - self.beta
        self.alpha_hat = torch.cumprod(self.alpha, dim=0)

    def noise_images(self, x, t):
        eps = torch.randn_like(x)
        return self.alpha_hat[t].sqrt()[:, None] * x + (1 - self.alpha_hat[t]).sqrt()[:, None] * eps, eps

    def sample(self, model, labels, cfg_scale=3):
        model.eval()
        with torch.no_grad():
            x = torch.randn(len(labels), 4)
            for i in reversed(range(1, self.steps)):
                t = torch.full((len(labels),), i)
                noise = model(x, t, labels)
                noise = torch.lerp(model(x, t, None), noise, cfg_scale)
                a, ah, b = self.alpha[i], self.alpha_hat[i], self.beta[i]
                x = (x - (1 - a) / (1 - ah).sqrt() * noise) / a.sqrt() + b.sqrt() * (
                    torch.randn_like(x) if i > 1 else 0
                )
        model.train()
        return x.clamp(-1, 1)


def run():
    torch.manual_seed(0)
    model, diffusion, ema = Denoiser(), Diffusion(), EMA(0.9)
    ema_model = copy.deepcopy(model).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    label_grads, losses = [], []
    for step in range(4):
        x, labels = torch.randn(8, 4), torch.randint(3, (8,))
        t = torch.randint(1, 10, (8,))
        x_t, noise = diffusion.noise_images(x, t)
        loss = F.mse_loss(noise, model(x_t, t, None if step == 2 else labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.step_ema(ema_model, model)
        label_grads.append(model.label.weight.grad is not None)
        losses.append(loss.item())
    return model, ema_model, label_grads, losses, diffusion.sample(ema_model, torch.arange(3))


TRUTH = Truth()


def verify(out):
    model, ema_model, label_grads, losses, samples = out
    assert label_grads == [True, True, False, True]
    assert not torch.equal(model.inp.weight, ema_model.inp.weight)
    assert all(p.grad is None for p in ema_model.parameters()) and not samples.requires_grad
    assert all(0 < loss < 100 for loss in losses)
