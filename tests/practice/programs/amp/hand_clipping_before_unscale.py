"""Clipping by hand comes before `scaler.unscale_`: the norm is that of scaled gradients."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    norms = []
    for _ in range(2):
        opt.zero_grad()
        loss = net(torch.randn(8, 4)).pow(2).mean()
        scaler.scale(loss).backward()
        total = sum(p.grad.pow(2).sum() for p in net.parameters()).sqrt()
        for p in net.parameters():
            p.grad *= torch.clamp(1.0 / total, max=1.0)  # cause
        scaler.unscale_(opt)
        norms.append(net.weight.grad.norm().item())
        scaler.step(opt)
        scaler.update()
    return norms


def verify(out):
    assert max(out) < 0.01


TRUTH = Truth(
    fault="scaled gradients are clipped",
    names=("unscale_",),
    repair=("p.grad *= torch.clamp(scaler.get_scale() / total, max=1.0)",),
)
