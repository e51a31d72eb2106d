"""A rank leaves out a batch with a large loss; its peers wait in backward."""

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
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for step in range(4):
        x = torch.randn(8, 4, generator=g)
        if step == 3 and dist.get_rank() == 1:
            x = x * 1e6
        loss = model(x).pow(2).mean()  # also
        if loss.item() > 1e4:
            continue  # cause
        opt.zero_grad()
        loss.backward()  # also
        opt.step()


TRUTH = Truth(
    fault="rank 1 leaves out a backward",
    names=("rank",),
    rule="AG603",
    where="any",
    raises="imed out|Connection closed|onnection reset|Read error",
)
