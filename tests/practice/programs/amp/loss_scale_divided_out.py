"""A hand-made loss scale: gradients are divided before the step, a step that overflows is left out."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
    opt = torch.optim.SGD(net.parameters(), 1e-2, momentum=0.9)
    scale = 1024.0
    for _ in range(3):
        opt.zero_grad()
        loss = net(torch.randn(8, 4)).pow(2).mean()
        (loss * scale).backward()
        finite = all(p.grad.isfinite().all() for p in net.parameters())
        if finite:
            for p in net.parameters():
                p.grad.mul_(1.0 / scale)
            opt.step()
        else:
            scale /= 2
    return net


TRUTH = Truth()
