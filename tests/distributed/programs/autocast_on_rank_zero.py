"""Autocast is on for one rank."""

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
    for _ in range(3):
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dist.get_rank() == 0):  # cause
            loss = model(torch.randn(8, 4, generator=g)).float().pow(2).mean()  # also
        loss.backward()
        opt.step()


TRUTH = Truth(fault="rank 0 computes in bfloat16", names=("bfloat16",), rule="AG602", where="gather")
