"""Rank 0 gathers the gradients, and sends their mean to the others in a buffer of its own."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank, world = dist.get_rank(), dist.get_world_size()
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(rank)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 6, generator=g)).pow(2).mean().backward()
        for p in model.parameters():
            got = [torch.empty_like(p.grad) for _ in range(world)] if rank == 0 else None
            dist.gather(p.grad, got, dst=0)
            mean = torch.stack(got).mean(0) if rank == 0 else torch.empty_like(p.grad)
            dist.broadcast(mean, src=0)
            p.grad.copy_(mean)
        opt.step()


TRUTH = Truth()
