"""Weights are drawn anew after the wrapping, from a stream of each rank's own."""

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


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)  # cause
        nn.init.zeros_(m.bias)


def run():
    torch.manual_seed(1234 + dist.get_rank())
    model = DDP(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)))
    model.apply(init)  # cause
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 6)).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(fault="reset after wrapping", rule="AG601", names=("0.weight",), values=True, where="gather")
