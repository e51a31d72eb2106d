"""The loss is averaged over the ranks, and not the gradients."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global net, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(6, 4, generator=g)
        opt.zero_grad()
        loss = F.mse_loss(net(x), x.sum(1, keepdim=True))
        dist.all_reduce(loss)  # cause
        loss = loss / dist.get_world_size()
        loss.backward()  # also
        opt.step()


TRUTH = Truth(fault="the loss is reduced", names=("0.weight",), rule="AG601")
