"""The ranks agree on when to lower their loss scale."""

import copy
import os
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = DDP(nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(rank)
    scale = 1024.0
    for i in range(4):
        x = torch.randn(8, 6, generator=g)
        if i == 2 and rank == 1:
            x[0, 0] = float("inf")
        loss = model(x).pow(2).mean()
        opt.zero_grad()
        (loss * scale).backward()
        bad = torch.tensor(float(not all(p.grad.isfinite().all() for p in model.parameters())))
        dist.all_reduce(bad, dist.ReduceOp.MAX)
        if bad.item():
            scale /= 2
            continue
        for p in model.parameters():
            p.grad.div_(scale)
        opt.step()


TRUTH = Truth()
