"""The rest of the epoch is stepped after micro-batches under no_sync."""

import contextlib
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
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    accum, batches = 2, 5
    for i in range(batches):
        boundary = (i + 1) % accum == 0
        with contextlib.nullcontext() if boundary else model.no_sync():  # also
            (model(torch.randn(8, 4, generator=g)).pow(2).mean() / accum).backward()  # also
        if boundary or i == batches - 1:
            opt.step()  # cause
            opt.zero_grad()


TRUTH = Truth(fault="the last step is of one rank's gradients", names=("0.weight",), rule="AG601")
