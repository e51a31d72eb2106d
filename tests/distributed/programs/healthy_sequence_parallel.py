"""Tensor parallel with norms that work on parts of the sequence."""

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
        return self.down(self.up(self.norm(x)).relu())


def run():
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    model = nn.Sequential(MLP(), MLP())
    for i in range(2):
        parallelize_module(
            model[i],
            mesh,
            {
                "norm": SequenceParallel(),
                "up": ColwiseParallel(input_layouts=Shard(1)),
                "down": RowwiseParallel(output_layouts=Shard(1)),
            },
        )
    parallelize_module(
        model,
        mesh,
        {
            "0": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1)),
            "1": PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=Replicate()),
        },
    )
    opt = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=False)
    for _ in range(3):
        x = torch.randn(4, 8, 6)
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(values=True)
