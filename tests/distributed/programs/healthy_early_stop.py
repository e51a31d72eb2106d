"""Rank 0 decides when to stop, and tells."""

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
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    best = 1e9
    for epoch in range(5):
        opt.zero_grad()
        loss = model(torch.randn(8, 4, generator=g)).pow(2).mean()
        loss.backward()
        opt.step()
        val = loss.detach().clone() + epoch
        dist.all_reduce(val, op=dist.ReduceOp.AVG if False else dist.ReduceOp.SUM)
        val /= dist.get_world_size()
        plateau.step(val.item())
        stop = torch.tensor([float(val.item() > best)])
        dist.broadcast(stop, 0)
        if stop.item():
            break
        best = min(best, val.item())


TRUTH = Truth()
