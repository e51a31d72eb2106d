"""Only the last of the asynchronous reductions is awaited."""

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
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        for p in model.parameters():
            work = dist.all_reduce(p.grad, op=dist.ReduceOp.SUM, async_op=True)  # cause
        work.wait()
        for p in model.parameters():
            p.grad.div_(dist.get_world_size())  # also
        opt.step()  # also


TRUTH = Truth(fault="gradients are read while they are reduced", names=("0.weight",), rule="AG601")
