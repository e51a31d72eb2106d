"""Clipping by hand with the norm of the shards of all ranks."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    fully_shard(model[0])
    fully_shard(model)
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        squares = [p.grad.to_local().pow(2).sum() for p in model.parameters()]
        total = torch.stack(squares).sum()
        dist.all_reduce(total)
        coef = torch.clamp(0.01 / total.sqrt(), max=1.0)
        for p in model.parameters():
            p.grad.to_local().mul_(coef)
        opt.step()


TRUTH = Truth()
