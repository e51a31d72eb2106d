"""A hand-written synchronised BatchNorm (the built-in wants a GPU) under DDP."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dnn
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def across_ranks(t):
    t = t.clone()
    dist.all_reduce(t)  # cause
    return t / dist.get_world_size()


class HandSyncBN(nn.Module):
    def __init__(self, dim, momentum=0.1, eps=1e-5):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("var", torch.ones(dim))
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        if self.training:
            stats = across_ranks(torch.stack([x.mean(0), x.pow(2).mean(0)]))  # also
            mean, var = stats[0], stats[1] - stats[0].pow(2)
            with torch.no_grad():
                self.mean.lerp_(mean, self.momentum)
                self.var.lerp_(var, self.momentum)
        else:
            mean, var = self.mean, self.var
        return (x - mean) / (var + self.eps).sqrt() * self.weight + self.bias


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 10, bias=False), HandSyncBN(10), nn.ReLU(), nn.Linear(10, 3)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    norms = []
    for _ in range(3):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
        F.cross_entropy(model(x + dist.get_rank()), y).backward()
        norms.append(round(model.module[0].weight.grad.norm().item(), 5))
        opt.step()
        opt.zero_grad()
    return norms


TRUTH = Truth(
    fault="the statistics are all-reduced outside autograd: the gradient that the other ranks have for these statistics is missing",
    rule="AG601",
    names=("all_reduce",),
    where="own",
)
