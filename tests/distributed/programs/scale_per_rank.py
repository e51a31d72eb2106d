"""Each rank keeps a loss scale of its own while the gradients are averaged."""

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
    rank = dist.get_rank()
    model = DDP(nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(rank)
    scale = 1024.0
    for i in range(4):
        x = torch.randn(8, 6, generator=g)
        loss = model(x).pow(2).mean()
        opt.zero_grad()
        (loss * scale).backward()  # cause
        for p in model.parameters():
            p.grad.div_(scale)  # cause
        opt.step()
        if loss.item() > (0.0 if rank else 1e6):
            scale /= 3  # cause


TRUTH = Truth(fault="loss scale per rank", rule="AG601", names=("weight",), values=True, where="gather")
