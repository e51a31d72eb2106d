"""Gradient accumulation over two micro-batches, clipping, a schedule, with a compiled model."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, optimizer, schedule
    net = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)), backend=BACKEND)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        for _ in range(2):
            (net(torch.randn(3, 4)).pow(2).mean() / 2).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
