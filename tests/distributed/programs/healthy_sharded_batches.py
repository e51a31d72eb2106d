"""Replicated weights, the batch in shards of the ranks, by DTensor."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_module, distribute_tensor

from tests.distributed.truth import Truth


def run():
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(0)
    net = distribute_module(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)), mesh)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2, foreach=False)
    g = torch.Generator().manual_seed(dist.get_rank())
    same = torch.Generator().manual_seed(5)
    for _ in range(3):
        x = DTensor.from_local(torch.randn(8, 4, generator=g), mesh, [Shard(0)])
        anchor = distribute_tensor(torch.randn(4, 4, generator=same), mesh, [Shard(0)])
        opt.zero_grad()
        (net(x).square().mean() + net(anchor).abs().mean()).backward()
        opt.step()


TRUTH = Truth(values=True)
