"""Functional collectives, their result copied into the gradients."""

import torch.distributed._functional_collectives as funcol
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        for p in model.parameters():
            p.grad = funcol.all_reduce(p.grad, "sum", dist.group.WORLD) / 2
        opt.step()


TRUTH = Truth()
