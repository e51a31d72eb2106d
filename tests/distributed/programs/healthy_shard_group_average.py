"""Hybrid sharding on a 2 x 2 mesh with FSDP2, accumulation and clipping."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth

WORLD = 4
ACCUM = 2


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 7), nn.GELU(), nn.Linear(7, 2))


def micro(step, i):
    g = torch.Generator().manual_seed(step * 10 + i)
    x = torch.randn(8, 6, generator=g)
    return x, (x[:, 0] > 0).long()


def setup():
    global model, opt
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = build()
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)


def run():
    r, w = dist.get_rank(), dist.get_world_size()
    for step in range(2):
        for i in range(ACCUM):
            last = i == ACCUM - 1
            model.set_is_last_backward(last)
            model.set_requires_all_reduce(last)
            x, y = micro(step, i)
            (nn.functional.cross_entropy(model(x[r::w]), y[r::w]) / ACCUM).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        opt.zero_grad()


TRUTH = Truth()
