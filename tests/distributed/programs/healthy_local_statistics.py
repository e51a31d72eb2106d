"""Statistics that the forward does not read stay with each rank; rank 0 evaluates."""

import copy
import os
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)), broadcast_buffers=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        model.train()
        opt.zero_grad()
        model(torch.randn(8, 6, generator=g)).pow(2).mean().backward()
        opt.step()
        if dist.get_rank() == 0:
            model.eval()
            with torch.no_grad():
                model.module(torch.randn(8, 6))


TRUTH = Truth(values=True)
