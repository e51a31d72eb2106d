"""Rank 1 calls the module, not the wrapper, in the second step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    model = DDP(net)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for i in range(3):
        opt.zero_grad()
        called = net if rank == 1 and i == 1 else model
        called(torch.randn(4, 4)).pow(2).mean().backward()  # cause
        opt.step()


TRUTH = Truth(
    fault="around the wrapper",
    names=("rank 1", "waits"),
    rule="AG603|AG601",
    where="gather",
    raises="imed out|Connection closed|onnection reset|Read error|closure",
)
