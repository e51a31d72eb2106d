"""Rank 0 prunes its weights."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 4))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(3):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        opt.step()
        if dist.get_rank() == 0:
            with torch.no_grad():
                model.module.weight.mul_(model.module.weight.abs() > 0.1)  # cause


TRUTH = Truth(fault="weights edited on one rank", names=("weight",), rule="AG601", where="gather")
