"""The running average is kept on rank 0, and every rank trains on a target from it."""

import copy
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
    ema = copy.deepcopy(model.module).requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(3):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        with torch.no_grad():
            target = ema(x)
        F.mse_loss(model(x), target + 1).backward()  # also
        opt.step()
        if dist.get_rank() == 0:
            with torch.no_grad():
                for e, p in zip(ema.parameters(), model.module.parameters()):
                    e.lerp_(p, 0.1)  # cause


TRUTH = Truth(fault="the teacher differs between ranks", names=("weight",), rule="AG601|AG602", where="gather")
