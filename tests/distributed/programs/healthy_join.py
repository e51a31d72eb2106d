"""Uneven batches in a join block."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    with model.join():
        for _ in range(2 + dist.get_rank()):
            opt.zero_grad()
            model(torch.randn(6, 4, generator=g)).square().mean().backward()
            opt.step()


TRUTH = Truth()
