"""A loss subtracts a running mean that each rank takes of its own batches."""

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


class DINOLoss(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, dim))

    def forward(self, s, t):
        target = F.softmax((t - self.center) / 0.04, dim=-1).detach()
        loss = -(target * F.log_softmax(s / 0.1, -1)).sum(-1).mean()
        self.update(t)
        return loss

    @torch.no_grad()
    def update(self, t):
        batch_center = t.mean(0, keepdim=True)
        self.center = self.center * 0.9 + batch_center * 0.1  # cause


def run():
    torch.manual_seed(0)
    student = DDP(nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 8)))
    teacher = copy.deepcopy(student.module).requires_grad_(False)
    crit = DINOLoss(8)
    opt = torch.optim.AdamW(student.parameters(), lr=1e-3)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(4):
        x = torch.randn(16, 6, generator=g)
        loss = crit(student(x + 0.1 * torch.randn(16, 6, generator=g)), teacher(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, b in zip(student.module.parameters(), teacher.parameters()):
                b.mul_(0.99).add_(a, alpha=0.01)


TRUTH = Truth(fault="center not reduced", rule="AG601", names=("center",), values=True, where="gather")
