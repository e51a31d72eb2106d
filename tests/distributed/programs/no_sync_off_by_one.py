"""The micro-batch that synchronises is the first of a window, not the last."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from contextlib import nullcontext

K = 2


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for i in range(6):
        sync = i % K == 0
        with nullcontext() if sync else model.no_sync():  # cause
            loss = model(torch.randn(2, 3, generator=g)).square().mean() / K  # also
            loss.backward()  # also
        if (i + 1) % K == 0:
            opt.step()
            opt.zero_grad()


TRUTH = Truth(fault="the last micro-batch is not reduced", names=("weight",), rule="AG601")
