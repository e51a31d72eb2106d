"""fully_shard with gradient accumulation: gradient sync is turned off for all but the last micro-batch."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth

ACCUM = 2


def setup():
    global net, opt, g
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    net = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 4))
    for layer in (net[0], net[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    start = net[0].weight.to_local().clone()
    for _ in range(3):
        for micro in range(ACCUM):
            if micro < ACCUM - 1:
                net.set_requires_gradient_sync(False)  # cause
            x, y = torch.randn(4, 6, generator=g), torch.randint(0, 4, (4,), generator=g)
            (F.cross_entropy(net(x), y) / ACCUM).backward()
        opt.step()  # also
        opt.zero_grad()
    return round((net[0].weight.to_local() - start).norm().item(), 4), net[0].weight.grad is None


TRUTH = Truth(
    fault="gradient sync is never turned on again: no gradient reaches the sharded parameters, the step does nothing",
    rule="AG601|AG404",
    names=("net.0.weight",),
    where="own",
)
