"""The time embedding is decorated with no_grad although a small network of it learns."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.time_mlp = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.inp, self.out = nn.Linear(2, dim), nn.Linear(dim, 2)

    @torch.no_grad()  # cause
    def embed(self, t):
        half = self.time_mlp[0].in_features // 2
        freqs = torch.exp(-math.log(1e4) * torch.arange(half) / half)
        angles = t[:, None] * freqs
        return self.time_mlp(torch.cat([angles.sin(), angles.cos()], 1))  # also

    def forward(self, x, t):
        return self.out(torch.relu(self.inp(x) + self.embed(t)))


def run():
    torch.manual_seed(0)
    net = Denoiser()
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    abar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)
    for _ in range(3):
        x0, t, eps = torch.randn(16, 2), torch.randint(100, (16,)), torch.randn(16, 2)
        a = abar[t][:, None]
        loss = (net(a.sqrt() * x0 + (1 - a).sqrt() * eps, t) - eps).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert all(p.grad is None for p in net.time_mlp.parameters())


TRUTH = Truth(fault="the time embedding never learns", names=("time_mlp",), repair=("# in the graph",))
