"""Rank 0 gathers the gradients and steps with their mean; the others step with their own."""

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
            dist.gather(p.grad, got, dst=0)  # cause
            if rank == 0:
                p.grad.copy_(sum(got) / world)
        opt.step()


TRUTH = Truth(fault="gradients gathered on one rank", rule="AG601", names=("weight",))
