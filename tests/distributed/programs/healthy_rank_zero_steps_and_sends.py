"""Gradients go to rank 0, which steps and sends the weights."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        (model(torch.randn(6, 4, generator=g)).square().mean() / 2).backward()
        for p in model.parameters():
            dist.reduce(p.grad, 0)
        opt.step()
        for p in model.parameters():
            dist.broadcast(p.data, 0)


TRUTH = Truth()
