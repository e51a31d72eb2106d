"""The first steps under a GradScaler overflow, and are skipped."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    for _ in range(2):
        opt.zero_grad()
        loss = (net(10 * torch.randn(16, 4)) - 5).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


TRUTH = Truth(values=True)
