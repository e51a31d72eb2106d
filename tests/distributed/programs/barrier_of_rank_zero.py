"""A barrier behind `if rank == 0`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    opt.zero_grad()
    model(torch.randn(6, 4, generator=g)).square().mean().backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= 2
    opt.step()
    if dist.get_rank() == 0:
        dist.barrier()  # cause


TRUTH = Truth(
    fault="one rank waits", names=("barrier",), rule="AG603", where="gather", raises="imed out|timeout caused"
)
