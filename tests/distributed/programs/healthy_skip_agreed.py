"""A step is left out on all ranks when any of them has a gradient that is not finite."""

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
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for step in range(4):
        opt.zero_grad()
        with model.no_sync():
            model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        bad = torch.tensor([float(step == 2 and dist.get_rank() == 1)])
        dist.all_reduce(bad, op=dist.ReduceOp.MAX)
        if bad.item():
            continue
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad.div_(2)
        opt.step()


TRUTH = Truth()
