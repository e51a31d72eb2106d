"""The EMA loop computes the average and gives it to the loop variable: the EMA model never moves."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 4))
    ema = copy.deepcopy(net).requires_grad_(False)
    start = [p.clone() for p in ema.parameters()]
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(3):
        x0, noise, t = torch.randn(8, 4), torch.randn(8, 4), torch.rand(8, 1)
        loss = (net((1 - t) * x0 + t * noise) - (noise - x0)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for averaged, p in zip(ema.parameters(), net.parameters(), strict=True):
                averaged = averaged * 0.9 + p * 0.1  # cause
    return [(a - b).abs().max().item() for a, b in zip(ema.parameters(), start, strict=True)]


def verify(out):
    assert max(out) == 0.0


TRUTH = Truth(fault="the EMA model is never written", repair=("averaged.mul_(0.9).add_(p, alpha=0.1)",))
