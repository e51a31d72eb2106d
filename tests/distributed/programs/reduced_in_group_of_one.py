"""Gradients are summed over a group with one rank."""

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


def average(model, group):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=group)  # cause
        p.grad /= dist.get_world_size()


def run():
    torch.manual_seed(0)
    groups = [dist.new_group([r]) for r in range(dist.get_world_size())]
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 6, generator=g)).pow(2).mean().backward()
        average(model, groups[dist.get_rank()])
        opt.step()


TRUTH = Truth(fault="group of one", rule="AG601", names=("weight", "group"))
