"""Early stopping by the mean of all ranks; a group of some ranks is made by all."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global net, opt, group
    torch.manual_seed(0)
    net = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)
    group = dist.new_group([0, 1])


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    half = dist.new_group([0])
    for epoch in range(3):
        opt.zero_grad()
        loss = net(torch.randn(4, 4, generator=g)).pow(2).mean()
        loss.backward()
        opt.step()
        val = loss.detach().clone()
        dist.all_reduce(val, group=group)
        if dist.get_rank() == 0:
            dist.all_reduce(val, group=half)
        if val / 2 < 100 and epoch:
            break


TRUTH = Truth()
