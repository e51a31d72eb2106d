"""Rank 1 runs a training forward that nobody differentiates."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for i in range(3):
        opt.zero_grad()
        loss = model(torch.randn(4, 4)).pow(2).mean()  # also
        if i == 1 and rank == 1:
            continue  # also
        loss.backward()  # cause
        opt.step()


TRUTH = Truth(
    fault="skipped backward",
    names=("backward", "rank 0 waits"),
    rule="AG603",
    where="gather",
    raises="imed out|Connection closed|onnection reset|Read error|closure",
)
