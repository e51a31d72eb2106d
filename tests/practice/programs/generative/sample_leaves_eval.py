"""Diffusion: sampling at the first milestone switches the model to eval(), and nobody switches it back: BatchNorm and dropout stop for good."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self, dim=8, hidden=24, steps=16):
        super().__init__()
        self.temb = nn.Embedding(steps, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        return self.out(self.drop(F.silu(self.norm(self.inp(x) + self.temb(t)))))


class Diffusion(nn.Module):
    def __init__(self, net, steps=16):
        super().__init__()
        self.net, self.steps = net, steps
        betas = torch.linspace(1e-3, 0.2, steps)
        self.register_buffer("betas", betas)
        self.register_buffer("alphas_cumprod", torch.cumprod(1 - betas, 0))

    def forward(self, x0):
        t = torch.randint(0, self.steps, (len(x0),))
        a = self.alphas_cumprod[t][:, None]
        noise = torch.randn_like(x0)
        return F.mse_loss(self.net(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)

    @torch.no_grad()
    def sample(self, n, dim=8):
        x = torch.randn(n, dim)
        for t in reversed(range(self.steps)):
            beta, a = self.betas[t], self.alphas_cumprod[t]
            eps = self.net(x, torch.full((n,), t))
            x = (x - beta / (1 - a).sqrt() * eps) / (1 - beta).sqrt()
            if t > 0:
                x = x + beta.sqrt() * torch.randn_like(x)
        return x


class Trainer:
    def __init__(self, model, data, lr=1e-3, save_and_sample_every=2):
        self.model, self.data, self.every = model, data, save_and_sample_every
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.step, self.gallery, self.tracked = 0, [], []

    def milestone(self):
        self.model.eval()
        self.gallery.append(self.model.sample(2))  # cause

    def train(self, num_steps):
        self.model.train()
        while self.step < num_steps:
            loss = self.model(self.data[torch.randint(0, len(self.data), (16,))])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.step += 1
            self.tracked.append(int(self.model.net.norm.num_batches_tracked))
            if self.step % self.every == 0:
                self.milestone()


def run():
    torch.manual_seed(0)
    trainer = Trainer(Diffusion(Denoiser()), torch.randn(64, 8) * 2)
    trainer.train(5)
    return trainer.tracked


def verify(tracked):
    assert tracked == [1, 2, 2, 2, 2]


TRUTH = Truth(
    fault="the model stays in eval mode after the first sampling",
    names=("eval",),
    repair=("self.gallery.append(self.model.sample(2))\nself.model.train()",),
)
