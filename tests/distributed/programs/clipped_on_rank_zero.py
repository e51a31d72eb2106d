"""Gradients are clipped on rank 0 only (DeepSpeed issue 1801, small)."""

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
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        if dist.get_rank() == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # cause
        opt.step()


TRUTH = Truth(fault="clipping on one rank", names=("rank",), rule="AG601|AG602", where="gather")
