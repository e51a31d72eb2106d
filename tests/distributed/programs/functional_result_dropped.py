"""A functional collective gives a new tensor, which is thrown away."""

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
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        for p in model.parameters():
            funcol.all_reduce(p.grad, "avg", dist.group.WORLD)  # cause
        opt.step()  # also


TRUTH = Truth(fault="the average is not used", names=("0.weight",), rule="AG601")
