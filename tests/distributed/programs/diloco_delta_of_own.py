"""DiLoCo whose outer gradient is averaged in a copy: each rank's outer optimizer steps with its own."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, inner, outer, start
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    for p in model.parameters():
        dist.broadcast(p.data, 0)
    start = [p.detach().clone().requires_grad_() for p in model.parameters()]
    inner = torch.optim.AdamW(model.parameters(), lr=1e-2)
    outer = torch.optim.SGD(start, lr=0.7, momentum=0.9, nesterov=True)


def averaged(t):
    t = t.clone()
    dist.all_reduce(t)  # also
    return t / dist.get_world_size()


def synchronise():
    for s, p in zip(start, model.parameters()):
        s.grad = s.data - p.data
        averaged(s.grad)  # cause
    outer.step()  # also
    with torch.no_grad():
        for s, p in zip(start, model.parameters()):
            p.copy_(s)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(6):
        inner.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        inner.step()
        if (step + 1) % 2 == 0:
            synchronise()
    return [round(p.sum().item(), 4) for p in model.parameters()]


TRUTH = Truth(fault="the averaged outer gradient is thrown away", rule="AG601", names=("all_reduce",), where="any")
