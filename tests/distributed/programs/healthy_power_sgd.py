"""Gradients are compressed by PowerSGD."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)))
    model.register_comm_hook(power.PowerSGDState(None, start_powerSGD_iter=2), power.powerSGD_hook)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for x, y in batches(5):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


TRUTH = Truth(values=True)
