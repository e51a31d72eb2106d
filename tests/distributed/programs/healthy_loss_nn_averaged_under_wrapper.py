"""The loss is averaged by a collective that has a gradient, under a wrapper: the factors cancel."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global net, opt
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1)))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(6, 4, generator=g)
        opt.zero_grad()
        loss = differentiable.all_reduce(F.mse_loss(net(x), x.sum(1, keepdim=True))) / dist.get_world_size()
        loss.backward()
        opt.step()


TRUTH = Truth()
