"""Each rank freezes a layer that its own random stream chose."""

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
    random.seed(dist.get_rank() * 7)
    torch.manual_seed(0)
    model = nn.ModuleList([nn.Linear(6, 6) for _ in range(4)])
    for p in model[random.randrange(4)].parameters():
        p.requires_grad_(False)  # cause
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)  # cause
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(8, 6, generator=g)
        for layer in model:
            x = layer(x).relu()
        opt.zero_grad()
        x.pow(2).mean().backward()
        for p in model.parameters():
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


TRUTH = Truth(fault="other layers frozen", rule="AG602", names=("requires_grad",), where="gather")
