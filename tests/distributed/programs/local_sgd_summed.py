"""Local SGD adds the weights of the ranks up and forgets to divide."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def synchronise(net):
    with torch.no_grad():
        for p in net.parameters():
            dist.all_reduce(p.data)  # cause


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(6):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        net(x).square().mean().backward()
        opt.step()
        if (step + 1) % 3 == 0:
            synchronise(net)


TRUTH = Truth(
    fault="weights are summed",
    names=("weight",),
    rule="AG601",
)
