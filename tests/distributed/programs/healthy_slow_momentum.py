"""Weights are averaged; a slow momentum then moves the mean, as SlowMo does."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt, before, slow
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    before = [p.detach().clone() for p in model.parameters()]
    slow = [torch.zeros_like(p) for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.no_grad()
def average(lr=0.1, beta=0.5):
    for p, b, m in zip(model.parameters(), before, slow):
        dist.all_reduce(p)
        p.div_(dist.get_world_size())
        m.mul_(beta).add_((b - p) / lr)
        p.copy_(b - lr * m)
        b.copy_(p)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(6):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        opt.step()
        if step % 3 == 2:
            average()


TRUTH = Truth()
