"""Consistency training: the target net is an average of the online one, and its output is a constant of the loss."""

import copy
import math

import torch
from torch import nn

from tests.practice.truth import Truth


class Consistency(nn.Module):
    def __init__(self, dim=4, sigma_data=0.5, sigma_min=0.002):
        super().__init__()
        self.sigma_data, self.sigma_min = sigma_data, sigma_min
        self.net = nn.Sequential(nn.Linear(dim + 1, 24), nn.SiLU(), nn.Linear(24, dim))

    def forward(self, x, sigma):
        c_skip = self.sigma_data**2 / ((sigma - self.sigma_min) ** 2 + self.sigma_data**2)
        c_out = self.sigma_data * (sigma - self.sigma_min) / (sigma**2 + self.sigma_data**2).sqrt()
        c_in = 1 / (sigma**2 + self.sigma_data**2).sqrt()
        return c_skip * x + c_out * self.net(torch.cat([c_in * x, sigma.log() / 4], 1))


@torch.no_grad()
def update(target, online, mu):
    for t, o in zip(target.parameters(), online.parameters()):
        t.copy_(t.detach().lerp(o, 1 - mu))


def pseudo_huber(x, y, c=0.03):
    return ((x - y) ** 2 + c**2).sqrt() - c


def run():
    torch.manual_seed(0)
    online = Consistency()
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.RAdam(online.parameters(), lr=4e-3)
    losses = []
    for k in range(4):
        n = math.ceil(math.sqrt(k / 4 * (20**2 - 2**2) + 2**2) - 1) + 1
        sigmas = torch.linspace(0.002 ** (1 / 7), 10 ** (1 / 7), n) ** 7
        x = 0.5 * torch.randn(16, 4)
        i = torch.randint(0, n - 1, (16, 1))
        z = torch.randn_like(x)
        with torch.no_grad():
            denoised = target(x + sigmas[i] * z, sigmas[i])
        pred = online(x + sigmas[i + 1] * z, sigmas[i + 1])
        weight = 1 / (sigmas[i + 1] - sigmas[i])
        loss = (weight * pseudo_huber(pred, denoised)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update(target, online, mu=math.exp(2 * math.log(0.95) / n))
        losses.append(loss.item())
    return online, target, losses


TRUTH = Truth()


def verify(out):
    online, target, losses = out
    assert all(p.grad.abs().sum() > 0 for p in online.parameters())
    assert all(p.grad is None for p in target.parameters()) and all(0 < loss < 1e4 for loss in losses)
