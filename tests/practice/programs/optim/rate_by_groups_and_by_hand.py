"""Two groups with rates of their own, set by hand at every step; the defaults stay as they were."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
    optimizer = torch.optim.AdamW(
        [{"params": net[0].parameters(), "lr": 1e-4}, {"params": net[2].parameters()}], lr=1e-2, weight_decay=0.01
    )
    bases = [group["lr"] for group in optimizer.param_groups]
    for step in range(4):
        factor = 0.5 * (1 + math.cos(math.pi * step / 4))
        for group, base in zip(optimizer.param_groups, bases):
            group["lr"] = base * factor
        optimizer.zero_grad()
        net(torch.randn(8, 6)).pow(2).mean().backward()
        optimizer.step()
    return net


TRUTH = Truth()
