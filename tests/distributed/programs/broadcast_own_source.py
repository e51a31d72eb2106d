"""Each rank names itself as the source of the broadcast: nobody gets anything."""

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


def setup():
    global model, opt
    torch.manual_seed(dist.get_rank())
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for p in model.parameters():
        dist.broadcast(p.data, src=dist.get_rank())  # cause
    for x, y in batches():
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


TRUTH = Truth(fault="no common source", rule="AG603", names=("broadcast",), where="gather", raises="imed out|onnection")
