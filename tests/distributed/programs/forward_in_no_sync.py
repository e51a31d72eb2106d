"""The last micro-batch is computed in no_sync; its backward stands after the block."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        opt.zero_grad()
        with model.no_sync():  # cause
            first = F.mse_loss(model(x[:4]), y[:4]) / 2
            last = F.mse_loss(model(x[4:]), y[4:]) / 2  # also
        first.backward()
        last.backward()  # also
        opt.step()


TRUTH = Truth(
    fault="nothing is reduced",
    names=("no_sync",),
    rule="AG601",
)
