"""The optimizer's state is loaded on rank 0 only."""

import copy
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
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        opt.step()
    saved = copy.deepcopy(opt.state_dict())
    opt = torch.optim.Adam(model.parameters(), lr=1e-1)
    if dist.get_rank() == 0:
        opt.load_state_dict(saved)  # cause
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        opt.step()  # also


TRUTH = Truth(fault="optimizer state differs", names=("step",), rule="AG602|AG601", where="gather")
