"""Rank 0 validates by the wrapper, whose buffers are sent with each call."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()  # also
        opt.step()
    if dist.get_rank() == 0:
        with torch.no_grad():
            model(torch.randn(6, 4, generator=g))  # cause


TRUTH = Truth(
    fault="one rank calls the wrapper",
    names=("DistributedDataParallel",),
    rule="AG603",
    where="gather",
    raises="imed out|timeout caused",
)
