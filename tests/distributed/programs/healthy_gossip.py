"""Neighbours average their weights after local steps."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(dist.get_rank())
    rank = dist.get_rank()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p in model.parameters():
                other = torch.empty_like(p)
                reqs = dist.batch_isend_irecv(
                    [dist.P2POp(dist.isend, p.detach().clone(), 1 - rank), dist.P2POp(dist.irecv, other, 1 - rank)]
                )
                for r in reqs:
                    r.wait()
                p.add_(other).div_(2)


TRUTH = Truth()
