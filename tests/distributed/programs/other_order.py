"""The ranks reduce the same gradients in another order."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        params = list(model.parameters())
        if dist.get_rank() == 1:
            params.reverse()
        for p in params:
            dist.all_reduce(p.grad)  # cause
            p.grad /= 2
        opt.step()


TRUTH = Truth(fault="another order", names=("all_reduce", "0.weight"), rule="AG603", where="gather")
