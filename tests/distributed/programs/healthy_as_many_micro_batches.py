"""Two micro-batches on two ranks: the loss is divided by how many there are."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def small():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(small())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    opt.zero_grad()
    for i, (x, y) in enumerate(batches()):
        (F.cross_entropy(model(x), y) / 2).backward()
        if i % 2:
            opt.step()
            opt.zero_grad()


TRUTH = Truth()
