"""The list that is gathered into has one tensor twice."""

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
    torch.manual_seed(0)
    model = DDP(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def everybody(z):
    parts = [torch.zeros_like(z)] * dist.get_world_size()
    dist.all_gather(parts, z.detach())  # cause
    parts[dist.get_rank()] = z
    return torch.cat(parts)


def run():
    for x, _ in batches():
        opt.zero_grad()
        a, b = F.normalize(model(torch.cat([x, x + 0.1])), dim=1).chunk(2)
        a, b = everybody(a), everybody(b)
        F.cross_entropy(a @ b.T / 0.1, torch.arange(len(a))).backward()
        opt.step()


TRUTH = Truth(fault="one tensor for all ranks", rule="AG601", names=("list",))
