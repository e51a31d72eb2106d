"""Every rank draws its batches with the same seed."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(1234)  # also
    for _ in range(3):
        x = torch.randn(3, 4)  # also
        opt.zero_grad()
        model(x).square().mean().backward()  # cause
        opt.step()


TRUTH = Truth(fault="the same data", names=(), rule="AG604", where="gather", values=True)
