"""Each rank's own batch is declared to be the same on all ranks."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, distribute_module

from tests.distributed.truth import Truth


def run():
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(0)
    net = distribute_module(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)), mesh)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2, foreach=False)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = DTensor.from_local(torch.randn(8, 4, generator=g), mesh, [Replicate()])  # cause
        opt.zero_grad()
        net(x).square().mean().backward()
        opt.step()


TRUTH = Truth(
    fault="not replicated",
    names=("replicated",),
    rule="AG601",
    where="gather",
    values=True,
)
