"""A running average on rank 0 only, for its checkpoint."""

import copy, io
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
    ema = copy.deepcopy(model.module).requires_grad_(False) if dist.get_rank() == 0 else None
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        opt.step()
        if ema is not None:
            with torch.no_grad():
                for e, p in zip(ema.parameters(), model.module.parameters()):
                    e.lerp_(p, 0.1)
    if ema is not None:
        torch.save(ema.state_dict(), io.BytesIO())
    dist.barrier()


TRUTH = Truth()
