"""ReduceLROnPlateau is given each rank's own validation loss."""

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
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, factor=0.5)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    val = [[3.0, 2.0, 1.0, 0.5], [1.0, 1.5, 2.0, 0.2]][dist.get_rank()]
    for epoch in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        opt.step()  # also
        plateau.step(val[epoch])  # cause


TRUTH = Truth(fault="learning rates drift apart", names=("lr",), rule="AG602|AG601", where="gather")
