"""The ranks of a tensor-parallel group get different batches."""

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


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.up = nn.Linear(6, 8)
        self.down = nn.Linear(8, 6)

    def forward(self, x):
        return self.down(self.up(self.norm(x)).relu())  # also


def run():
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    model = parallelize_module(MLP(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    opt = torch.optim.SGD(model.parameters(), lr=0.01, foreach=False)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(8, 6, generator=g)
        opt.zero_grad()
        model(x).pow(2).mean().backward()  # cause
        opt.step()


TRUTH = Truth(
    fault="tensor-parallel ranks with different data", rule="AG601", names=("replicated",), values=True, where="gather"
)
