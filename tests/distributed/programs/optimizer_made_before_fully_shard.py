"""FSDP2: the optimizer is built with the model, and fully_shard is applied afterwards."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def build():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)  # cause
    return net, optimizer


def setup():
    global net, opt, g
    net, opt = build()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in (net[0], net[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)  # also
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    w = net[0].weight
    start = w.to_local().clone()
    for _ in range(3):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 4, (4,), generator=g)
        F.cross_entropy(net(x), y).backward()
        opt.step()  # also
        opt.zero_grad()
    moved = (net[0].weight.to_local() - start).norm().item()
    return {"moved": round(moved, 4), "grad": None if w.grad is None else round(w.grad.to_local().norm().item(), 4)}


TRUTH = Truth(
    fault="optimizer holds the parameters from before fully_shard: the model never moves and its gradients are never zeroed",
    rule="AG405",
    names=("AdamW",),
    where="own",
    before=True,
)
