"""A layer is exchanged after the sharding: nothing reduces the new one."""

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
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 10))
    for part in (model[0], model[2]):
        fully_shard(part)
    fully_shard(model)
    model[2] = nn.Linear(8, 3)  # cause
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        F.cross_entropy(model(torch.randn(8, 6, generator=g)), torch.randint(3, (8,), generator=g)).backward()
        opt.step()


TRUTH = Truth(fault="layer replaced after sharding", rule="AG601", names=("2.weight",))
