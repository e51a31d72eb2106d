"""Stages are frozen when train() is called, which is after the wrapping: the reducer waits for them."""

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
    def __init__(self, frozen_stages):
        super().__init__()
        self.stages = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.head = nn.Linear(6, 3)
        self.frozen_stages = frozen_stages

    def train(self, mode=True):
        super().train(mode)
        for stage in self.stages[: self.frozen_stages]:
            for p in stage.parameters():
                p.requires_grad = False  # cause
        return self

    def forward(self, x):
        for stage in self.stages:
            x = stage(x).relu()
        return self.head(x)


def run():
    torch.manual_seed(0)
    model = DDP(Net(frozen_stages=2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        F.cross_entropy(model(torch.randn(4, 6, generator=g)), torch.randint(3, (4,), generator=g)).backward()  # also
        opt.step()


TRUTH = Truth(
    fault="frozen after wrapping",
    rule="AG603",
    names=("stages.0.weight",),
    raises="Expected to have finished reduction",
)
