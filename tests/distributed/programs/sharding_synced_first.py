"""The first micro-batch is reduced, and the last is not."""

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
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    fully_shard(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(8):
        model.set_requires_gradient_sync(step % 4 == 0)  # cause
        (model(torch.randn(8, 6, generator=g)).pow(2).mean() / 4).backward()
        if (step + 1) % 4 == 0:
            opt.step()  # cause
            opt.zero_grad()


TRUTH = Truth(fault="last micro-batch not reduced", rule="AG601", names=("0.weight", "set_requires_gradient_sync"))
