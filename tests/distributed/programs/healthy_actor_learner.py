"""Rank 1 plays with weights it is sent; rank 0 learns."""

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
    policy = nn.Linear(4, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2) if dist.get_rank() == 0 else None
    for _ in range(3):
        for p in policy.parameters():
            dist.broadcast(p.data, 0)
        if dist.get_rank() == 1:
            with torch.no_grad():
                s = torch.randn(8, 4)
                a = policy(s).argmax(1)
            dist.send(s, 0)
            dist.send(a, 0)
        else:
            s = torch.empty(8, 4)
            a = torch.empty(8, dtype=torch.long)
            dist.recv(s, 1)
            dist.recv(a, 1)
            opt.zero_grad()
            F.cross_entropy(policy(s), a).backward()
            opt.step()


TRUTH = Truth()
