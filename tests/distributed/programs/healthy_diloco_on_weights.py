"""DiLoCo whose outer optimizer has the weights themselves: they go back to where they began before its step."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, inner, outer, start
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    start = [p.detach().clone() for p in model.parameters()]
    inner = torch.optim.AdamW(model.parameters(), lr=1e-2)
    outer = torch.optim.SGD(model.parameters(), lr=0.7, momentum=0.9, nesterov=True)


def synchronise():
    for s, p in zip(start, model.parameters()):
        delta = s - p.data
        dist.all_reduce(delta)
        p.data.copy_(s)
        p.grad = delta / dist.get_world_size()
    outer.step()
    for s, p in zip(start, model.parameters()):
        s.copy_(p.data)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(6):
        inner.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        inner.step()
        if (step + 1) % 2 == 0:
            synchronise()
    return [round(p.sum().item(), 4) for p in model.parameters()]


TRUTH = Truth()
