"""FSDP2 with the project's own clipping helper."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def clip_(params, max_norm):
    grads = [p.grad.to_local() for p in params if p.grad is not None]
    sq = torch.stack([g.square().sum() for g in grads]).sum()
    norm = sq.sqrt()  # cause
    scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(scale)  # also
    return norm


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def setup():
    global model, opt
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = build()
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)


def batch(step):
    g = torch.Generator().manual_seed(step)
    return torch.randn(8, 8, generator=g) * 3, torch.randn(8, 4, generator=g) * 5


def run():
    r, w = dist.get_rank(), dist.get_world_size()
    for step in range(3):
        x, y = batch(step)
        loss = nn.functional.mse_loss(model(x[r::w]), y[r::w])
        opt.zero_grad()
        loss.backward()
        clip_(list(model.parameters()), 0.5)
        opt.step()


TRUTH = Truth(
    rule="AG601",
    fault="each rank clips its shards by the norm of its own shards only",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
    where="gather",
    values=True,
)
