"""Megatron MLP by hand: column- then row-parallel, with the conjugate f and g functions, between replicated layers."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class ParallelMLP(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        mine = hidden // dist.get_world_size()
        self.up = nn.Linear(dim, mine)
        self.down = nn.Linear(mine, dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return Reduce.apply(self.down(F.gelu(self.up(Copy.apply(x))))) + self.bias


def setup():
    global net, opt, g
    torch.manual_seed(0)
    first, last = nn.Linear(5, 8), nn.Linear(8, 3)
    torch.manual_seed(1 + dist.get_rank())  # the shards start different
    net = nn.Sequential(first, ParallelMLP(8, 16), last)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(7)  # the same batch on every rank of the tensor-parallel group


def run():
    for _ in range(3):
        x, y = torch.randn(6, 5, generator=g), torch.randint(0, 3, (6,), generator=g)
        F.cross_entropy(net(x), y).backward()
        opt.step()
        opt.zero_grad()
    return [round(p.norm().item(), 5) for p in (net[0].weight, net[1].up.weight, net[1].bias, net[2].weight)]


TRUTH = Truth()
