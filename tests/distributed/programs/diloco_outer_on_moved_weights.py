"""DiLoCo whose outer step is applied to the weights that the inner steps have moved, and not to those they began with."""

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
        p.grad = delta / dist.get_world_size()  # also
    outer.step()  # cause
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


TRUTH = Truth(fault="the outer step begins from each rank's own weights", rule="AG601", names=("weight",), where="any")
