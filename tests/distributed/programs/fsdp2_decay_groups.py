"""FSDP2 trainer with param groups for decay and no decay."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard

from tests.distributed.truth import Truth


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.down(torch.nn.functional.silu(self.up(self.norm(x))))


def groups(module):
    decay = [p for p in module.parameters() if p.dim() > 1]
    rest = [p for p in module.parameters() if p.dim() <= 1]
    return [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]


def shard(module):
    if isinstance(module, FSDPModule):
        return module
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for b in module[:2]:
        fully_shard(b, mesh=mesh)
    return fully_shard(module, mesh=mesh)


def setup():
    global model, opt, before
    torch.manual_seed(0)
    model = nn.Sequential(Block(8), Block(8), nn.Linear(8, 1))
    param_groups = groups(model)  # cause
    model = shard(model)
    opt = torch.optim.AdamW(param_groups, lr=1e-2)  # also
    before = [p.to_local().clone() for p in model.parameters()]


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(8, 8)
        loss = (model(x) - x.sum(-1, keepdim=True)).abs().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()


TRUTH = Truth(
    rule="AG405",
    fault="the optimizer holds the parameters from before sharding, so nothing is updated",
    where="own",
    before=True,
)
