"""set_requires_gradient_sync(False) for accumulation is never switched on again."""

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
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    fully_shard(model[0])
    fully_shard(model)
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model.set_requires_gradient_sync(False)  # cause
        for _ in range(2):
            model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()  # also
        opt.step()  # also


TRUTH = Truth(fault="no gradient reaches the shards", names=("0.weight",), rule="AG601|AG301|AG305|AG413")
