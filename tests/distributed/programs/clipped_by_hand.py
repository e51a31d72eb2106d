"""Each rank scales its gradients by its own norm, then they are reduced in one buffer."""

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
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    params = list(model.parameters())
    for p in params:
        dist.broadcast(p.data, 0)
    opt = torch.optim.Adam(params)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 6, generator=g)).pow(2).mean().backward()
        total = torch.stack([p.grad.norm() for p in params]).norm()
        scale = (1.0 / (total + 1e-6)).clamp(max=1.0)
        for p in params:
            p.grad.mul_(scale)  # cause
        flat = torch._utils._flatten_dense_tensors([p.grad for p in params])
        dist.all_reduce(flat)
        flat /= dist.get_world_size()
        for p, v in zip(params, torch._utils._unflatten_dense_tensors(flat, [p.grad for p in params])):
            p.grad.copy_(v)
        opt.step()


TRUTH = Truth(fault="clipped before the reduction", rule="AG601", names=("0.weight",))
