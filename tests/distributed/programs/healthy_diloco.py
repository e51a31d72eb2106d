"""Inner steps alone; every few steps the change of the weights is averaged and given to an outer optimizer."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, inner, outer, start
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    start = [p.detach().clone().requires_grad_() for p in model.parameters()]
    inner = torch.optim.AdamW(model.parameters(), lr=1e-2)
    outer = torch.optim.SGD(start, lr=0.7, momentum=0.9, nesterov=True)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(4):
        inner.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        inner.step()
        if step % 2:
            for s, p in zip(start, model.parameters()):
                delta = s.data - p.data
                dist.all_reduce(delta)
                s.grad = delta / dist.get_world_size()
            outer.step()
            with torch.no_grad():
                for s, p in zip(start, model.parameters()):
                    p.copy_(s)


TRUTH = Truth()
