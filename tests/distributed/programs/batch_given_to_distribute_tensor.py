"""Data parallel with DTensor: each rank loads its own batch and makes it a DTensor sharded on the batch dimension."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_module, distribute_tensor

from tests.distributed.truth import Truth


def setup():
    global net, opt, mesh, g
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    net = distribute_module(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1)), mesh)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    g = torch.Generator().manual_seed(dist.get_rank())


def to_global(local):
    return distribute_tensor(local, mesh, [Shard(0)])  # cause


def run():
    seen = []
    for _ in range(3):
        x = torch.randn(4, 6, generator=g)
        y = x.sum(1, keepdim=True)
        gx, gy = to_global(x), to_global(y)  # also
        seen.append((tuple(gx.shape), round(gx.to_local().sum().item() - x.sum().item(), 3)))
        F.mse_loss(net(gx), gy).backward()
        opt.step()
        opt.zero_grad()
    return seen


TRUTH = Truth(
    fault="distribute_tensor scatters rank 0's batch: the other ranks' own batches are never used",
    rule="AG601",
    names=("distribute_tensor", "from_local", "rank 0"),
    where="gather",
    values=True,
)
