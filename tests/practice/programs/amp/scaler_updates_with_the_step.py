"""Accumulation under a GradScaler: step() and update() at the end of each window."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for i in range(4):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(torch.randn(8, 4)).float(), torch.randint(0, 2, (8,))) / 2
        scaler.scale(loss).backward()
        if (i + 1) % 2 == 0:
            scaler.step(opt)
            opt.zero_grad()
        if (i + 1) % 2 == 0:
            scaler.update()


TRUTH = Truth()
