"""Accumulation without no_sync: slower, and right."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        for _ in range(3):
            (model(torch.randn(3, 4)).square().mean() / 3).backward()
        opt.step()
        opt.zero_grad()


TRUTH = Truth()
