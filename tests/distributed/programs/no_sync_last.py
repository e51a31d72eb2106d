"""Accumulation with no_sync around every micro-batch, the last one too."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        for _ in range(3):
            with model.no_sync():  # cause
                out = model(torch.randn(2, 4))  # also
                (out.pow(2).mean() / 3).backward()  # also
        opt.step()


TRUTH = Truth(fault="no micro-batch reduces", names=("0.weight",), rule="AG601")
