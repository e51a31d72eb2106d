"""The last micro-batch runs in the closure that step() is given, as Lightning has it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def loss():
    return model(torch.randn(3, 4)).square().mean() / 2


def closure():
    value = loss()
    value.backward()
    return value


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        with model.no_sync():
            loss().backward()
        opt.step(closure)


TRUTH = Truth()
