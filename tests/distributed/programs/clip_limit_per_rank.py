"""The ranks clip to different norms."""

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
    model = DDP(nn.Linear(6, 1))
    limit = 1.0 / (1 + dist.get_rank())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        (model(torch.randn(8, 6, generator=g) * 10).pow(2).mean() * 10).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)  # cause
        opt.step()


TRUTH = Truth(fault="clipped to different norms", rule="AG601", names=("weight",), values=True, where="gather")
