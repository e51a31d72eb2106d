"""The model is not given to prepare: the optimizer and the data are."""

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


def setup():
    for k, v in {
        "RANK": dist.get_rank(),
        "LOCAL_RANK": dist.get_rank(),
        "WORLD_SIZE": 2,
        "ACCELERATE_USE_CPU": "true",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": 29999,
    }.items():
        os.environ[k] = str(v)


def run():
    from accelerate import Accelerator

    torch.manual_seed(0)
    acc = Accelerator(cpu=True)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(32, 6))
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
    opt, loader = acc.prepare(opt, loader)  # cause
    for (x,) in loader:
        loss = model(x).pow(2).mean()  # cause
        opt.zero_grad()
        acc.backward(loss)
        opt.step()  # cause


TRUTH = Truth(fault="model not prepared", rule="AG601", names=("weight",))
