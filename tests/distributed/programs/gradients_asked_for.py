"""torch.autograd.grad returns gradients that the wrapper never sees."""

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
    model = DDP(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)))
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        loss = model(torch.randn(8, 6, generator=g)).pow(2).mean()
        grads = torch.autograd.grad(loss, list(model.parameters()))  # cause
        with torch.no_grad():
            for p, d in zip(model.parameters(), grads):
                p -= 0.01 * d  # cause


TRUTH = Truth(fault="gradients past the reducer", rule="AG601", names=("0.weight", "torch.autograd.grad"))
