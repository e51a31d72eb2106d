"""Each step ends with a broadcast of the weights of rank 0: nobody's gradient but its own counts."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x, y = torch.randn(8, 4, generator=g), torch.randint(0, 2, (8,), generator=g)
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        opt.step()  # also
        with torch.no_grad():
            for p in net.parameters():
                dist.broadcast(p, src=0)  # cause


TRUTH = Truth(
    fault="gradients of rank 1 are lost",
    names=("weight",),
    rule="AG601",
    where="any",
)
