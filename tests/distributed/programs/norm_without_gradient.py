"""A normalisation over all ranks through which no gradient of the other ranks comes back."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


class SyncNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        both = torch.cat([x.mean(0), x.square().mean(0)])
        dist.all_reduce(both, op=dist.ReduceOp.SUM)  # cause
        mean, square = (both / dist.get_world_size()).chunk(2)
        return (x - mean) * (square - mean.square() + 1e-5).rsqrt() * self.weight + self.bias


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), SyncNorm(8), nn.ReLU(), nn.Linear(8, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for x, y in batches():
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


TRUTH = Truth(fault="no gradient through the collective", rule="AG601|AG101|AG102|AG104")
