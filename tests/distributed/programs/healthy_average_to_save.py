"""Rank 0 averages weights to save them."""

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
    net = nn.Linear(6, 1)
    model = DDP(net)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    ema = copy.deepcopy(net).requires_grad_(False) if dist.get_rank() == 0 else None
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 6, generator=g)).pow(2).mean().backward()
        opt.step()
        if ema is not None:
            with torch.no_grad():
                for a, b in zip(net.parameters(), ema.parameters()):
                    b.lerp_(a, 0.1)
    if ema is not None:
        ema.state_dict()
    dist.barrier()


TRUTH = Truth()
