"""The hook of torch that leaves out the reduction, left on after a measurement."""

from torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
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
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    model.register_comm_hook(None, noop_hook)  # cause
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for i in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()  # also
        opt.step()


TRUTH = Truth(fault="no gradient is reduced", names=("0.weight",), rule="AG601")
