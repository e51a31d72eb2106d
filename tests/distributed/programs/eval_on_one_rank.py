"""Rank 0 validates and stays in eval mode."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(4):
        if step == 2 and dist.get_rank() == 0:
            model.eval()  # cause
            with torch.no_grad():
                model.module(torch.randn(2, 4, generator=g))
        opt.zero_grad()
        model(torch.randn(3, 4, generator=g)).square().mean().backward()
        opt.step()


TRUTH = Truth(fault="train mode differs", names=("eval",), rule="AG411", where="any")
