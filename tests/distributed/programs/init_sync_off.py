"""DDP with init_sync=False, and each rank draws its own weights."""

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
    net = nn.Linear(4, 1)
    model = DDP(net, init_sync=False)  # cause
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        opt.step()  # also


TRUTH = Truth(fault="replicas start apart", names=("weight",), rule="AG601|AG602", where="any", values=True)
