"""Features of all ranks, where each puts its own back into the graph."""

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


def gathered(z):
    every = [torch.zeros_like(z) for _ in range(dist.get_world_size())]
    dist.all_gather(every, z)
    every[dist.get_rank()] = z
    return torch.cat(every)


def run():
    torch.manual_seed(0)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.img, self.txt = nn.Linear(6, 4), nn.Linear(5, 4)
            self.scale = nn.Parameter(torch.tensor(1.0))

        def forward(self, a, b):
            return F.normalize(self.img(a), dim=-1), F.normalize(self.txt(b), dim=-1), self.scale.exp()

    model = DDP(Both())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        a, b, s = model(torch.randn(8, 6, generator=g), torch.randn(8, 5, generator=g))
        every_a, every_b = gathered(a), gathered(b)
        labels = torch.arange(8) + 8 * dist.get_rank()
        loss = (F.cross_entropy(s * a @ every_b.t(), labels) + F.cross_entropy(s * b @ every_a.t(), labels)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
