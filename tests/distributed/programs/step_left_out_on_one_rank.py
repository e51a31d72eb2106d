"""A rank leaves out a step whose gradient norm is too large."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    for p in model.parameters():
        dist.broadcast(p.data, 0)
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for step in range(4):
        opt.zero_grad()
        x = torch.randn(8, 4, generator=g) * (100 if (step, dist.get_rank()) == (2, 1) else 1)
        model(x).pow(2).mean().backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        if norm < 50:
            opt.step()  # cause


TRUTH = Truth(fault="rank 1 leaves out a step", names=("step",), rule="AG601|AG602|AG603", where="gather")
