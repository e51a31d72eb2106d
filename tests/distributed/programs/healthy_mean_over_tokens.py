"""The loss is divided by the number of tokens of all ranks."""

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
    world = dist.get_world_size()
    model = DDP(nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20)))
    opt = torch.optim.AdamW(model.parameters())
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        t = torch.randint(20, (4, 5 + dist.get_rank()), generator=g)
        n = torch.tensor(float(t.numel()))
        dist.all_reduce(n)
        loss = F.cross_entropy(model(t).flatten(0, 1), t.flatten(), reduction="sum") * world / n
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total = loss.detach().clone()
        dist.all_reduce(total)


TRUTH = Truth(values=True)
