"""The blocks are sharded and the root is not: embedding and head are nobody's."""

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


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])
        self.head = nn.Linear(8, 20)

    def forward(self, t):
        x = self.embed(t)
        for b in self.blocks:
            x = x + b(x).relu()
        return self.head(x)


def run():
    torch.manual_seed(0)
    model = Net()
    for b in model.blocks:
        fully_shard(b)  # cause
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        t = torch.randint(20, (4, 6), generator=g)
        opt.zero_grad()
        F.cross_entropy(model(t).flatten(0, 1), t.flatten()).backward()  # cause
        opt.step()  # cause


TRUTH = Truth(fault="root not sharded", rule="AG601", names=("embed.weight", "head.weight"))
